"""Rounds, what begins them and what they start from, of a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.client import AsyncDeskhand, Conflict, InvalidRequest, Missing, NotOver
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.rounds.promotion_kinds import PromotionKind
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState


async def test_a_round_is_paused_resumed_cloned_and_retried(
    client: AsyncDeskhand, services: Services
) -> None:
    number = (await client.start_round("smoke", key="mine")).id
    assert (await client.start_round("smoke", key="mine")).id == number
    assert (await client.pause_round(number)).state is WorkState.PAUSED
    with pytest.raises(Conflict, match="is paused"):
        await client.pause_round(number)
    assert (await client.resume_round(number)).state is WorkState.QUEUED
    clone = await client.clone_round(number, {"ppo": {"iterations": 7}}, key="once")
    assert (await client.clone_round(number, key="once")).id == clone.id != number
    with pytest.raises(InvalidRequest) as refused:
        await client.clone_round(number, {"ppo": {"lr": "x"}})
    assert refused.value.field == "ppo.lr"

    book = services.book
    await book.plan(number, None, [PhasePlan(name=name, kind=name, config={}) for name in ("sft", "ppo")])
    await book.set_going(number, 1)
    with pytest.raises(NotOver, match=f"round {number} is running after"):
        await client.wait_round(number, timeout_s=0.1)
    await book.update_phase(number, "sft", state=WorkState.DONE, run_id="round-sft")
    await book.close(number, WorkState.FAILED, "out of luck", 1)  # it was resumed once
    assert (await client.wait_round(number, timeout_s=60)).reason == "out of luck"
    folder = services.settings.runs / "round-sft"
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("one\ntwo\n")
    piece = await client.phase_log(number, "sft", tail=6)
    assert (piece.text, piece.size, piece.over) == ("two\n", 8, True)
    assert (await client.phase_log(number, "sft", 0)).text == "one\ntwo\n"
    for nobody in ("stf", "../sft"):
        with pytest.raises(Missing):
            await client.phase_log(number, nobody)
    assert (await client.retry_round(number, "sft", afresh=True)).state is WorkState.QUEUED
    form = await client.round_form()
    assert "properties" in form.config_schema and "smoke" in [one.name for one in form.presets]


async def test_schedules_come_change_and_go(client: AsyncDeskhand) -> None:
    made = await client.add_schedule("smoke", {"ppo": {"iterations": 2}}, cron="0 3 * * 1-5")
    assert made.next_at_s is not None and [one.id for one in await client.schedules()] == [made.id]
    off = await client.replace_schedule(made.id, "smoke", new_successes=5, enabled=False)
    assert (off.cron, off.new_successes, off.enabled, off.overrides) == (None, 5, False, {})
    with pytest.raises(InvalidRequest):
        await client.add_schedule("smoke")
    await client.remove_schedule(made.id)
    assert await client.schedules() == []
    with pytest.raises(Missing):
        await client.remove_schedule(made.id)


async def test_a_policy_is_promoted_and_gone_back_to(
    client: AsyncDeskhand, store: Store, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    first, second = [(await store.keep_policy(folder, parent_id=None, metadata={"n": n})).id for n in (0, 1)]
    kinds = [(await client.promote(one, "looks better")).kind for one in (first, second, first)]
    assert kinds == [PromotionKind.MANUAL, PromotionKind.MANUAL, PromotionKind.ROLLBACK]
    assert [one.policy_id async for one in client.promotions()] == [first, second, first]
    assert (await client.policy(first)).promoted
    with pytest.raises(InvalidRequest) as refused:
        await client.promote(second, " ")
    assert refused.value.field == "reason"
