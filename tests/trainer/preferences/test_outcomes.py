"""Whole episodes as pairs: every reply of a failure is in it, as it was drawn."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deskhand_agent.ids import new_id
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Decision, Fault, Trajectory
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind, OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import Outcome
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.outcomes import played
from deskhand_trainer.preferences.pairs import trajectory_pairs
from deskhand_trainer.run_kinds import prefer
from deskhand_trainer.run_kinds.context import RunContext


def ended(trajectory: Trajectory, score: float, *decisions: Decision) -> Trajectory:
    """The same start, other turns, another verdict."""
    assert trajectory.end is not None
    steps = tuple(replace(s, decision=d) for s, d in zip(trajectory.steps, decisions, strict=True))
    return replace(
        trajectory,
        start=replace(trajectory.start, id=new_id()),
        steps=steps,
        end=replace(trajectory.end, outcome=Outcome(score=score, success=score == 1.0)),
    )


async def episodes(wait_to_the_limit: Any) -> tuple[Trajectory, Trajectory]:
    """A success of two turns; a failure whose first reply had to be mended and whose second was void."""
    trajectory, _ = await wait_to_the_limit(turns=2)
    first, second = (step.decision for step in trajectory.steps)
    completion = first.completion
    assert completion is not None and first.request is not None
    drawn = replace(completion, ids=(*completion.ids[:-1], 3, completion.ids[-1]), logprobs=(-0.5,) * 99)
    mended = replace(first, completion=drawn, repairs=("quotes",))
    void = replace(second, actions=(), error="no action", fault=Fault.SYNTAX)
    return ended(trajectory, 1.0, first, second), ended(trajectory, 0.0, mended, void)


async def test_the_whole_of_a_failure_is_the_worse_side(wait_to_the_limit: Any, tiny: ModelBundle) -> None:
    won, lost = await episodes(wait_to_the_limit)
    sides = [played(each, tiny.processor_hash) for each in (won, lost)]
    whole = [side for side in sides if side is not None]
    (pair,) = trajectory_pairs(whole, limit=9, draw=random.Random(0))
    for trajectory, side in zip((won, lost), pair.sides, strict=True):
        drawn = [step.decision.completion for step in trajectory.steps]
        assert [s.reply_ids for s in side] == [each.ids for each in drawn if each is not None]
        assert len(side) == 2


async def test_what_was_not_drawn_as_ids_of_the_policys_own_is_none_of_it(
    wait_to_the_limit: Any, tiny: ModelBundle
) -> None:
    won, _ = await episodes(wait_to_the_limit)
    first, second = (step.decision for step in won.steps)
    said = replace(second, request=None, completion=None, trainable=False)
    assert played(ended(won, 1.0, first, said), tiny.processor_hash) is None
    assert played(won, "another") is None


async def test_episodes_that_are_left_out_are_counted_and_named(
    wait_to_the_limit: Any, tiny: ModelBundle, store: Store, tmp_path: Path
) -> None:
    won, lost = await episodes(wait_to_the_limit)
    first, second = (step.decision for step in won.steps)
    said = ended(won, 0.0, replace(first, completion=None, trainable=False), second)
    elsewhere = [replace(each, start=replace(each.start, task=replace(each.start.task, seed=7), id=new_id()))
                 for each in (won, said)]  # fmt: skip
    held = {each.id: each for each in (won, lost, *elsewhere)}

    told = Reporter(store, subject="run:r", folder=tmp_path / "board")

    class Held:
        async def starts(self, chosen: object) -> dict[str, tuple[str, int]]:
            return {i: (each.start.task.id, each.start.task.seed) for i, each in held.items()}

    class Context:
        reporter, store = told, Held()

        async def settled_episodes(self, chosen: TrajectoryFilter) -> list[str]:
            wanted = chosen.outcome is OutcomeFilter.SUCCESS
            return [
                each.id
                for each in held.values()
                if each.end and each.end.outcome and each.end.outcome.success == wanted
            ]

        async def read(self, ids: Iterable[str]) -> Any:
            for each in ids:
                yield held[each]

    found, left_out = await prefer._pairs(  # pyright: ignore[reportPrivateUsage]
        cast("RunContext", Context()), tiny, PreferenceConfig()
    )
    said = elsewhere[1]
    assert len(found) == 1
    assert left_out == [said.id]
    (alarm,) = [e for e in await store.events_after(0) if e.kind is EventKind.ALARM]
    assert alarm.name == "episodes_left_out"
    assert alarm.data["count"] == 1 and alarm.data["episodes"] == [said.id]
