"""Evaluations and suites of a real server."""

from __future__ import annotations

import pytest

from deskhand_platform.client import AsyncDeskhand, Conflict, InvalidRequest, Missing, NotOver

BUTTON = "fake/press-button"


async def test_an_evaluation_is_asked_for_and_cancelled(client: AsyncDeskhand) -> None:
    asked = await client.start_evaluation([BUTTON], episodes=4, modes=["greedy"], split="validation")
    assert (asked.tasks, asked.scripted, asked.split, asked.policy_id) == ([BUTTON], True, "validation", None)
    assert [one.id async for one in client.evaluations(task=BUTTON)] == [asked.id]
    assert [one async for one in client.evaluations(policy_id="policy-a")] == []
    assert not (await client.evaluation(asked.id)).state.over
    with pytest.raises(NotOver):
        await client.wait_evaluation(asked.id, timeout_s=0.1)
    assert (await client.cancel_evaluation(asked.id)).id == asked.id
    with pytest.raises(InvalidRequest) as refused:
        await client.start_evaluation(["fake/press-buton"])
    assert (refused.value.field, refused.value.suggestions[0]) == ("tasks.0", BUTTON)
    for unknown in ("nothing", "../evaluations"):
        with pytest.raises(Missing):
            await client.evaluation(unknown)
    with pytest.raises(Missing):
        await client.compare_policies("policy-a", "policy-b")


async def test_suites_are_kept_and_forgotten(client: AsyncDeskhand) -> None:
    assert (await client.keep_suite("ours", [BUTTON])).own
    assert (await client.keep_suite("ours", [BUTTON, "fake/press-in-order"])).tasks[1:] == [
        "fake/press-in-order"
    ]
    suites = {one.name: one for one in await client.suites()}
    assert suites["ours"].own and not suites["held-out"].own
    with pytest.raises(Conflict):
        await client.keep_suite("held-out", [BUTTON])
    await client.delete_suite("ours")
    with pytest.raises(Missing):
        await client.delete_suite("ours")
