"""The whole loop on the sandbox's own fake computer, which dies, hangs and dawdles on request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from deskhand_agent.policies import create_policy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Failure, StopReason
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats, run_episodes
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import Task

SETTINGS = WorkerSettings(retries=1, backoff_s=0.001, deadlines=Deadlines(act_s=0.3))


class FakeSource:
    """Lends fake computers."""

    def __init__(self) -> None:
        self._backend = create_backend("fake")

    def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AbstractAsyncContextManager[Sandbox]:
        return self._lease()

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[Sandbox]:
        async with await self._backend.create() as sandbox:
            yield sandbox


def misbehaving(task: Task, **settings: Any) -> Task:
    environment = replace(task.environment, settings={**task.environment.settings, **settings})
    return replace(task, environment=environment)


async def run(tasks: list[Task], concurrency: int = 16) -> tuple[WorkerStats, MemorySink]:
    sink = MemorySink()
    stats = await run_episodes(
        [Job(task=task) for task in tasks],
        source=FakeSource(),
        policy=create_policy("scripted"),
        sink=sink,
        settings=SETTINGS,
        concurrency=concurrency,
    )
    return stats, sink


@pytest.mark.parametrize(("task_id", "turns"), [("fake/press-button", 1), ("fake/press-in-order", 2)])
async def test_sixteen_at_once_all_succeed(task_id: str, turns: int) -> None:
    stats, sink = await run([make_task(task_id, seed) for seed in range(32)])
    assert (stats.episodes, stats.successes, stats.steps, stats.failures) == (32, 32, 32 * turns, {})
    for trajectory in sink.trajectories:
        task = trajectory.start.task
        assert trajectory.start.split is split_of(task.id, task.seed)
        assert trajectory.end is not None
        assert trajectory.end.stop_reason is StopReason.TERMINATED


@pytest.mark.parametrize(
    ("settings", "failure", "steps"),
    [
        ({"crash_at": 1}, Failure.SANDBOX_DIED, 1),
        ({"crash_at": 0}, Failure.SANDBOX_DIED, 0),
        ({"hang_at": 1}, Failure.SANDBOX_TIMEOUT, 1),
        ({"fail_reset": True}, Failure.SANDBOX_DIED, 0),
    ],
)
async def test_trouble_in_one_computer_ends_only_its_own_episode(
    settings: dict[str, Any], failure: Failure, steps: int
) -> None:
    good = [make_task("fake/press-in-order", seed) for seed in range(15)]
    bad = misbehaving(make_task("fake/press-in-order", 99), **settings)
    stats, sink = await run([bad, *good])
    assert (stats.episodes, stats.successes, stats.given_up) == (15, 15, 1)
    assert stats.failures == {failure: 2}
    broken = [each for each in sink.trajectories if each.start.task == bad]
    assert [(each.end and each.end.failure, len(each.steps)) for each in broken] == [(failure, steps)] * 2
    assert all(each.end and each.end.outcome is None for each in broken)


async def test_a_lost_oracle_is_the_models_failure() -> None:
    stats, _ = await run([replace(make_task("fake/press-button", 1), instruction="Do as you like.")])
    assert (stats.given_up, stats.failures) == (1, {Failure.MODEL_ERROR: 2})
