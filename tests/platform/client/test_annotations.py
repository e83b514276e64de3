"""Marks, notes and proposals of a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_agent.types import Context, Decision
from deskhand_flywheel.store import Store
from deskhand_platform.client import AsyncDeskhand, Conflict, Deskhand, InvalidRequest, Missing, NotAllowed
from deskhand_platform.proposals import Proposals
from deskhand_platform.states import ProposalState
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Click, EnvironmentSpec, Observation, Task, VerifierSpec


async def test_one_marks_and_notes_in_ones_own_name(
    client: AsyncDeskhand, network: Any, person: Any, store: Store, record_episode: Any
) -> None:
    kept, ada = await record_episode(store), await person("ada")
    assert (await client.mark_step(kept, 1, 0.0, "It missed.")).annotator == "owner"
    assert (await client.mark_step(kept, 1, 1.0, annotator="owner")).score == 1.0
    assert (await client.mark_trajectory(kept, 0.5)).step_index is None
    note = await client.write_note(kept, 0, "The handle?")
    edited = await client.edit_note(note.id, "The handle!")
    assert edited.edited_at_s is not None

    def as_ada() -> None:
        with Deskhand(network.url, ada) as hers:
            assert hers.mark_step(kept, 0, 0.25).annotator == "ada"
            with pytest.raises(NotAllowed, match="you are ada"):
                hers.mark_step(kept, 0, 0.0, annotator="owner")
            with pytest.raises(NotAllowed):
                hers.delete_note(note.id)

    await asyncio.to_thread(as_ada)
    said = await client.annotations(kept)
    assert {(one.annotator, one.step_index, one.score) for one in said.marks} == {
        ("owner", 1, 1.0),
        ("owner", None, 0.5),
        ("ada", 0, 0.25),
    }
    assert [one.text for one in said.notes] == ["The handle!"]
    await client.unmark_step(kept, 1)
    await client.unmark_trajectory(kept, annotator="owner")
    await client.delete_note(note.id)
    left = await client.annotations(kept)
    assert ([one.annotator for one in left.marks], left.notes) == (["ada"], [])
    with pytest.raises(Missing):
        await client.unmark_step(kept, 1)


async def test_proposals_are_accepted_and_replaced(client: AsyncDeskhand, store: Store) -> None:
    seen = Observation(screenshot=encoded(Picture.new("RGB", (40, 30))), captured_at_s=1.0, settled_ms=1.0)
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    decision = Decision(actions=(Click(x=1, y=1),), text="click")
    asking = [
        asyncio.create_task(
            Proposals(store).review(
                Context(task=task, instruction="Do it.", steps=(), observation=seen, trajectory_id=id),
                decision,
                within_s=600.0,
            )
        )
        for id in ("a", "b")
    ]
    async with asyncio.timeout(100):
        while len(waiting := [one async for one in client.proposals()]) < 2:
            await asyncio.sleep(0.02)
    assert (await client.proposal(waiting[0].id)).state is ProposalState.WAITING
    with pytest.raises(InvalidRequest, match="nothing is asked"):
        await client.answer_proposal(waiting[0].id, answer="The blue one.")
    accepted = await client.answer_proposal(waiting[0].id)
    assert (accepted.state, accepted.answered_by) == (ProposalState.ANSWERED, "owner")
    await client.answer_proposal(waiting[1].id, "click(point='<point>5 6</point>')", "It missed.")
    with pytest.raises(Conflict, match="owner has answered already"):
        await client.answer_proposal(waiting[1].id)
    answers = [one for one in await asyncio.gather(*asking) if one is not None]
    assert sorted(one.reason for one in answers) == ["", "It missed."]
    assert [one async for one in client.proposals()] == []
