"""Every oracle on real pages: it earns the reward, and doing nothing does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from deskhand_agent.policies import create_policy
from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Policy, Step, StopReason, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats, run_episodes
from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import list_tasks, make_task
from deskhand_sandbox.types import Click, Finish

pytestmark = pytest.mark.browser

SETTINGS = WorkerSettings(concurrency=4, retries=0, episodes_per_lease=500)
PAGES = tuple(task_id for task_id in oracle_tasks() if task_id.startswith("miniwob/"))


class BackendSource:
    """Lends fresh sandboxes of one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AbstractAsyncContextManager[Sandbox]:
        return self._lease()

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[Sandbox]:
        async with await self._backend.create() as sandbox:
            yield sandbox


class Idle:
    """Says at once that it is done."""

    id = "idle"

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Finish(),), text="finished()")


async def run(
    policy: Policy, seeds: range, tasks: Sequence[str] = ()
) -> tuple[dict[str, list[Trajectory]], WorkerStats]:
    sink, backend = MemorySink(), create_backend("browser")
    jobs = [Job(task=make_task(task_id, seed)) for task_id in tasks or PAGES for seed in seeds]
    try:
        stats = await run_episodes(
            jobs, source=BackendSource(backend), policy=policy, sink=sink, settings=SETTINGS
        )
    finally:
        await backend.close()
    by_task: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in sink.trajectories:
        by_task[trajectory.start.task.id].append(trajectory)
    return by_task, stats


def succeeded(trajectory: Trajectory) -> bool:
    end = trajectory.end
    return end is not None and end.outcome is not None and end.outcome.success and end.outcome.score == 1.0


def story(trajectory: Trajectory) -> str:
    """What happened, for whoever reads the failure."""
    said = [step.decision.text for step in trajectory.steps]
    end = trajectory.end
    why = f"{end.stop_reason}, {end.failure_detail or end.outcome}" if end else "no end"
    return f"{trajectory.start.task.id} seed {trajectory.start.task.seed}: {why}: {said}"


def table(by_task: dict[str, list[Trajectory]]) -> str:
    rows = []
    for task_id, episodes in sorted(by_task.items()):
        turns = sum(len(each.steps) for each in episodes) / len(episodes)
        rows.append(f"{task_id:40} {sum(map(succeeded, episodes)):3}/{len(episodes)} {turns:6.2f} turns")
    return "\n".join(rows)


def test_every_oracle_task_is_one_of_the_catalogue() -> None:
    assert set(oracle_tasks()) <= {task.id for task in list_tasks()}
    assert len(PAGES) >= 40


async def test_oracles_succeed_with_one_action_per_turn() -> None:
    by_task, stats = await run(create_policy("scripted"), range(2))
    failed = [story(each) for episodes in by_task.values() for each in episodes if not succeeded(each)]
    assert failed == []
    assert stats.failures == {}
    for episodes in by_task.values():
        for trajectory in episodes:
            assert trajectory.end is not None
            assert trajectory.end.stop_reason is StopReason.TERMINATED
            assert all(_as_an_agent_would(step) for step in trajectory.steps)
            assert sum(step.reward for step in trajectory.steps) > 0


def _as_an_agent_would(step: Step) -> bool:
    (action,) = step.decision.actions
    width, height = step.observation.size_px
    on_screen = not isinstance(action, Click) or (0 <= action.x < width and 0 <= action.y < height)
    return on_screen and step.action_error is None


async def test_doing_nothing_earns_nothing() -> None:
    tasks = PAGES[::3]
    by_task, stats = await run(Idle(), range(1), tasks)
    assert [story(each) for episodes in by_task.values() for each in episodes if succeeded(each)] == []
    scores = {
        each.end.outcome.score
        for group in by_task.values()
        for each in group
        if each.end and each.end.outcome
    }
    assert scores == {0.0}
    assert stats.episodes == len(tasks)


@pytest.mark.slow
async def test_oracles_succeed_on_twenty_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    by_task, _ = await run(create_policy("scripted"), range(100, 120))
    with capsys.disabled():
        print(f"\n{table(by_task)}")
    weak = [
        story(each)
        for episodes in by_task.values()
        if sum(map(succeeded, episodes)) < 19
        for each in episodes
        if not succeeded(each)
    ]
    assert weak == []
