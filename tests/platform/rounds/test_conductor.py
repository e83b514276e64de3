from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.errors import WrongState
from deskhand_platform.rounds.book import RoundRecord
from deskhand_platform.rounds.table import rows
from deskhand_platform.services import Services
from deskhand_platform.serving import platform, sandbox_host
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state

Until = Callable[..., Any]


async def over(services: Services, round_id: int, until: Until) -> RoundRecord:
    async def is_over() -> bool:
        return (await services.book.get(round_id)).state.over

    await until(is_over)
    return await services.book.get(round_id)


async def running(services: Services, round_id: int, name: str, step: int, until: Until) -> Path:
    """Wait until that phase has done so many steps; its folder."""
    folder = services.settings.runs / f"round-{round_id}-{name}"

    async def has_begun() -> bool:
        state = read_state(folder)
        return state is not None and state.done >= step

    await until(has_begun)
    return folder


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def spec(services: Services, run_id: str) -> dict[str, Any]:
    return json.loads((services.settings.runs / run_id / "spec.json").read_text())


@pytest.mark.timeout(600)  # two whole rounds, thirty processes
async def test_a_round_turns_and_the_next_goes_on_from_it(counting: Settings, until: Until) -> None:
    async with platform(counting, sandbox_host(counting)) as up:
        services = up.services
        started = await services.rounds.start("smoke", {})
        first = await over(services, started.id, until)
        assert (first.state, first.reason) == (WorkState.DONE, None)
        assert [phase.name for phase in first.phases] == [
            "evaluate-untrained",
            "collect",
            "curate",
            "sft",
            "evaluate-sft",
            "explore",
            "curate-explored",
            "score",
            "ppo",
            "curate-practised",
            "evaluate-ppo",
            "validate-sft",
            "validate-ppo",
            "promote",
        ]
        assert {phase.state for phase in first.phases} == {WorkState.DONE}
        assert [row.label for row in rows(first)] == ["before SFT", "after SFT", "after PPO"]
        ppo = spec(services, "round-1-ppo")
        assert (ppo["policy_in"], ppo["prm_in"]) == ("round-1-sft-made", "round-1-score-made")
        assert ppo["labels"] == {"round": "1", "phase": "ppo"} and ppo["sandbox_url"]
        untrained = spec(services, "round-1-evaluate-untrained")
        assert (untrained["policy_in"], untrained["near_frames"]) == (None, 0.01)
        assert spec(services, "round-1-explore")["policy_in"] == "round-1-sft-made"
        assert spec(services, "round-1-validate-ppo")["config"]["split"] == "validation"
        assert (first.policy_out, first.promoted) == ("round-1-ppo-made", True)

        second = await over(services, (await services.rounds.start("smoke", {})).id, until)
        names = [phase.name for phase in second.phases]
        assert second.policy_in == "round-1-ppo-made" and names[0] == "evaluate-start"
        assert "sft" not in names and "collect" not in names
        assert (second.policy_out, second.promoted) == ("round-1-ppo-made", False)
        assert "nothing to promote: no figure is above that of round-1-ppo-made" in str(second.reason)

        third = (await services.rounds.start("smoke", {})).id
        await running(services, third, "evaluate-start", 1, until)
        assert (await services.book.get(third)).policy_in == "round-1-ppo-made"
        events = await services.store.events_after(0, subjects=["round:2"])
        assert [event.data["state"] for event in events if event.name == "state"] == [
            "queued",
            "running",
            "done",
        ]


async def test_a_policy_that_never_succeeds_is_no_start(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_RATE", "0")
    monkeypatch.setenv("COUNTING_STEPS", "1")
    async with platform(counting) as up:
        services, brief = up.services, {"collect": None, "explore": None, "score": None}
        first = await over(services, (await services.rounds.start("smoke", brief)).id, until)
        assert (first.state, first.policy_out, first.promoted) == (WorkState.DONE, None, False)
        assert "nothing to promote: no policy succeeded even once" in str(first.reason)
        assert first.phases[-1].metrics["why"] == first.reason
        second = (await services.rounds.start("smoke", brief)).id
        await running(services, second, "evaluate-untrained", 1, until)
        assert (await services.book.get(second)).policy_in is None


async def test_one_round_works_at_a_time_and_waiting_ones_can_be_cancelled(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "90000")
    async with platform(counting) as up:
        services = up.services
        first, second = [(await services.rounds.start("smoke", {}, key)).id for key in "ab"]
        folder = await running(services, first, "evaluate-untrained", 3, until)
        assert (await services.book.get(second)).state is WorkState.QUEUED
        assert (await services.rounds.cancel(second)).state is WorkState.CANCELLED
        with pytest.raises(WrongState):
            await services.rounds.cancel(second)

        state = read_state(folder)
        assert state is not None
        await services.rounds.cancel(first)
        stopped = await over(services, first, until)
        assert stopped.state is WorkState.CANCELLED and not alive(state.pid)
        assert {phase.state for phase in stopped.phases} == {WorkState.CANCELLED, WorkState.SKIPPED}


async def test_a_killed_run_goes_on_from_its_checkpoint(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "12")
    monkeypatch.setenv("COUNTING_HOLDS", "sft")
    async with platform(counting) as up:
        services = up.services
        round_id = (await services.rounds.start("smoke", {"evaluate": None, "explore": None})).id
        folder = await running(services, round_id, "sft", 10, until)
        state = read_state(folder)
        assert state is not None
        os.kill(state.pid, signal.SIGKILL)
        done = await over(services, round_id, until)
        assert done.state is WorkState.DONE
        assert (folder / "lives.txt").read_text().split() == ["0", "10"]


async def test_a_stopped_platform_goes_on_where_it_was(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTING_STEPS", "12")
    monkeypatch.setenv("COUNTING_HOLDS", "sft")
    changed = {"evaluate": None, "explore": None}
    async with platform(counting) as up:
        round_id = (await up.services.rounds.start("smoke", changed)).id
        folder = await running(up.services, round_id, "sft", 10, until)
    state = read_state(folder)
    assert state is not None and not alive(state.pid)
    async with platform(counting) as up:
        done = await over(up.services, round_id, until)
        assert done.state is WorkState.DONE
    lives = [int(line) for line in (folder / "lives.txt").read_text().split()]
    assert lives == [0, 10]
    collected = counting.runs / f"round-{round_id}-collect" / "lives.txt"
    assert collected.read_text().split() == ["0"]  # what was done is not done again


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("COUNTING_REFUSES", "sft: RunRefused: there is no such task"),
        ("COUNTING_CRASHES", "the run died 4 times in a row (last: signal SIGKILL)"),
    ],
)
async def test_a_hopeless_run_fails_its_round_with_the_reason(
    counting: Settings, until: Until, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    monkeypatch.setenv(how, "sft")
    async with platform(counting) as up:
        round_id = (await up.services.rounds.start("smoke", {"evaluate": None})).id
        failed = await over(up.services, round_id, until)
    assert failed.state is WorkState.FAILED and said in str(failed.reason)
    states = {phase.name: phase.state for phase in failed.phases}
    assert states["collect"] is WorkState.DONE and states["ppo"] is WorkState.SKIPPED
