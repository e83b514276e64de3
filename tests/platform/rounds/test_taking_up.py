"""Rounds that are paused, taken up again, and begun twice at once; with real run processes that count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.errors import InvalidField, WrongState
from deskhand_platform.rounds.book import RoundRecord
from deskhand_platform.services import Services
from deskhand_platform.serving import platform
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state

Until = Callable[..., Any]
BRIEF: dict[str, Any] = {
    "collect": None, "explore": None, "score": None, "pretrain": None, "rejection": None, "evaluate": None,
}  # fmt: skip


async def becomes(services: Services, round_id: int, state: WorkState, until: Until) -> RoundRecord:
    async def is_so() -> bool:
        return (await services.book.get(round_id)).state is state

    await until(is_so)
    return await services.book.get(round_id)


async def reaches(services: Services, run_id: str, step: int, until: Until) -> Path:
    folder = services.settings.runs / run_id

    async def is_there() -> bool:
        state = read_state(folder)
        return state is not None and state.done >= step

    await until(is_there)
    return folder


def lives(folder: Path) -> list[int]:
    """The steps at which the run's lives began."""
    return [int(line) for line in (folder / "lives.txt").read_text().split()]


@pytest.mark.slow
async def test_a_paused_round_goes_on_at_its_step_and_lets_others_go_first(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "300")
    async with platform(counting) as up:
        services = up.services
        first = (await services.rounds.start("smoke", BRIEF)).id
        folder = await reaches(services, f"round-{first}-sft", 5, until)
        with pytest.raises(WrongState, match="is running: only a paused one can be resumed"):
            await services.rounds.resume(first)
        with pytest.raises(WrongState, match="is running: pause or cancel it"):
            await services.rounds.retry(first, "sft")
        asked = await services.rounds.pause(first)
        assert asked.pause_requested
        paused = await becomes(services, first, WorkState.PAUSED, until)
        assert [phase.state for phase in paused.phases[:2]] == [WorkState.PAUSED, WorkState.QUEUED]
        assert paused.ended_at_s is None
        with pytest.raises(WrongState, match="is paused"):
            await services.rounds.pause(first)

        monkeypatch.setenv("COUNTING_STEPS", "2")
        second = (await services.rounds.start("smoke", BRIEF, "another")).id
        await becomes(services, second, WorkState.DONE, until)
        assert (await services.book.get(first)).state is WorkState.PAUSED

        monkeypatch.setenv("COUNTING_STEPS", "300")
        assert (await services.rounds.resume(first)).state is WorkState.QUEUED
        done = await becomes(services, first, WorkState.DONE, until)
        assert not done.pause_requested
    begun = lives(folder)
    assert len(begun) == 2 and begun[0] == 0 and begun[1] >= 5


async def test_a_round_that_waits_is_paused_at_once_and_can_be_cancelled(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "90000")
    async with platform(counting) as up:
        services = up.services
        first, second, third = [(await services.rounds.start("smoke", BRIEF, key)).id for key in "abc"]
        await reaches(services, f"round-{first}-sft", 1, until)
        assert (await services.rounds.pause(second)).state is WorkState.PAUSED
        assert (await services.rounds.pause(third)).state is WorkState.PAUSED
        assert (await services.rounds.cancel(second)).state is WorkState.CANCELLED
        assert (await services.rounds.resume(third)).state is WorkState.QUEUED
        await services.rounds.cancel(first)
        await becomes(services, first, WorkState.CANCELLED, until)
        await reaches(services, f"round-{third}-sft", 1, until)


@pytest.mark.slow
async def test_a_pause_asked_for_before_the_platform_went_down_holds_after_it(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "200")
    async with platform(counting) as up:
        round_id = (await up.services.rounds.start("smoke", BRIEF)).id
        folder = await reaches(up.services, f"round-{round_id}-sft", 5, until)
        # the platform goes down at the same moment: the run may not have been told yet
        await up.services.rounds.pause(round_id)
    async with platform(counting) as up:
        await becomes(up.services, round_id, WorkState.PAUSED, until)
    async with platform(counting) as up:
        assert (await up.services.book.get(round_id)).state is WorkState.PAUSED
        await up.services.rounds.resume(round_id)
    async with platform(counting) as up:
        await becomes(up.services, round_id, WorkState.DONE, until)
    begun = lives(folder)
    assert begun == sorted(begun) and begun[1] >= 5


async def test_a_round_that_never_began_has_no_phase_to_be_retried_from(
    counting: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "90000")
    async with platform(counting) as up:
        await up.services.rounds.start("smoke", BRIEF)
        waits = (await up.services.rounds.start("smoke", {**BRIEF, "description": "it waits"})).id
        await up.services.rounds.cancel(waits)
        with pytest.raises(WrongState, match="cancelled and never began: retry it without a phase"):
            await up.services.rounds.retry(waits, "ppo")


async def test_a_failed_phase_is_tried_again_from_its_checkpoint_and_a_done_one_anew(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_CRASHES", "ppo")
    async with platform(counting) as up:
        services = up.services
        round_id = (await services.rounds.start("smoke", BRIEF)).id
        failed = await becomes(services, round_id, WorkState.FAILED, until)
        assert failed.phases[-1].state is WorkState.SKIPPED
        with pytest.raises(WrongState, match="ppo is failed, and comes before it"):
            await services.rounds.retry(round_id, "promote")
        with pytest.raises(InvalidField, match="did you mean ppo"):
            await services.rounds.retry(round_id, "pppo")
        monkeypatch.delenv("COUNTING_CRASHES")
        await services.rounds.retry(round_id, None)
        done = await becomes(services, round_id, WorkState.DONE, until)
        assert done.reason is None or "nothing to promote" in done.reason
        ppo = services.settings.runs / f"round-{round_id}-ppo"
        assert lives(ppo)[0] == 0 and lives(ppo)[-1] == 3
        with pytest.raises(WrongState, match="every phase done: name the one to retry"):
            await services.rounds.retry(round_id, None)

        await services.rounds.retry(round_id, "ppo")
        again = await becomes(services, round_id, WorkState.DONE, until)
        assert [phase.run_id for phase in again.phases if phase.kind in ("sft", "ppo")] == [
            f"round-{round_id}-sft", f"round-{round_id}-ppo-2",
        ]  # fmt: skip
        assert lives(services.settings.runs / f"round-{round_id}-ppo-2") == [0]
        assert lives(services.settings.runs / f"round-{round_id}-sft") == [0]


async def test_two_who_start_the_same_round_get_one_and_clones_are_their_own(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "90000")
    async with platform(counting) as up:
        services = up.services
        both = await asyncio.gather(*(services.rounds.start("smoke", BRIEF) for _ in range(2)))
        assert both[0].id == both[1].id
        other = await services.rounds.start("smoke", {**BRIEF, "description": "another"})
        assert other.id != both[0].id
        clone = await services.rounds.clone(other.id, {"ppo": {"iterations": 3}})
        assert clone.config == {**other.config, "ppo": {**other.config["ppo"], "iterations": 3}}  # type: ignore[dict-item]
        same = await services.rounds.clone(other.id, {})
        assert same.config == other.config and same.id != other.id
        with pytest.raises(InvalidField, match=r"ppo.iterations=50"):
            await services.rounds.clone(other.id, {"ppo": {"iterations": 0}})
        for one in (other, clone, same, both[0]):
            await services.rounds.cancel(one.id)
        await becomes(services, both[0].id, WorkState.CANCELLED, until)
        later = await services.rounds.start("smoke", BRIEF)
        assert later.id > same.id


async def test_a_round_that_cannot_fit_is_refused_with_the_sum(counting: Settings) -> None:
    async with platform(counting) as up:
        with pytest.raises(
            InvalidField, match=r"evaluate.episodes: the round needs at least 20,000,\d{3},\d{3} MB"
        ):
            await up.services.rounds.start("smoke", {"evaluate": {"episodes": 2_000_000_000_000}})
        with pytest.raises(
            InvalidField, match=r"ppo.threads: 1024 threads, each on a core of its own, and \d+"
        ):
            await up.services.rounds.start("smoke", {"ppo": {"threads": 1024}})
        assert await up.services.book.list() == ()
