"""New episodes from a step of a recorded one: its way is gone again, and from there another policy decides.

No computer outlives its lease, so the first episode replays the recorded actions from the seeded start. Of
several, the others go on from a snapshot of where it arrived, if the sandbox keeps any, and replay otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS, Branch
from deskhand_agent.episode import run_episode
from deskhand_agent.test_time.checking import SelfCheck
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Policy, Step, StepSink, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.errors import NotReplayable
from deskhand_flywheel.retracing import EveryTurn, Retracing, check_retraceable
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import Task

EXACT = "branch_exact"
"""Label of a branch: "yes" where every screen up to its step was as recorded, else "no"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchOrder:
    """What is to be branched off."""

    of: Trajectory
    step: int
    """The first that is decided anew."""
    task: Task
    """To be worked: the recorded one, its limits perhaps others."""
    episodes: int = 1

    def __post_init__(self) -> None:
        """
        Raises:
            NotReplayable: there is no such step, or the episode had several attempts.
        """
        check_retraceable(self.of)
        if not 0 <= self.step < len(self.of.steps):
            raise NotReplayable(f"{self.of.id} has {len(self.of.steps)} steps: there is no step {self.step}")


async def branch_off(
    order: BranchOrder,
    *,
    sandbox: Sandbox,
    policy: Policy,
    sink: StepSink,
    labels: Mapping[str, str],
    deadlines: Deadlines,
    self_check: SelfCheck | None = None,
) -> list[Trajectory]:
    """Work the branches one after the other, until one breaks (`TrajectoryEnd.failure`); the first first.

    An episode is recorded from the moment it has arrived at the step: labelled with what it left
    (`branch_of`), how many turns they share, and whether they were the same to look at.

    Args:
        self_check: as `run_episode`'s; a branch is one attempt.

    Raises:
        NotReplayable: the recorded actions end the episode before the step.
        Exception: as `run_episode`.
    """
    keeper = EveryTurn(only=order.step)
    keeps = order.episodes > 1 and Capability.SNAPSHOT in sandbox.capabilities
    done: list[Trajectory] = []
    exact = ""
    while len(done) < order.episodes and not _broken(done):
        from_snapshot = keeps and bool(keeper.snapshots)
        held = _Held(sink, order)
        branch = None
        if from_snapshot:
            first = replace(done[0], start=replace(done[0].start, id=order.of.id))
            branch = Branch(of=first, turn=order.step, snapshot=keeper.snapshots[0])
            acting, written = policy, sink
        else:
            acting, written = Retracing(order.of, order.step, policy, arrived=held.release), held
        episode = await run_episode(
            order.task,
            sandbox=sandbox,
            policy=acting,
            verifier=create_verifier(order.task.verifier),
            sink=written,
            split=order.of.start.split,
            labels={**labels, **({EXACT: exact} if from_snapshot else {})},
            deadlines=deadlines,
            crossroads=keeper if keeps and not from_snapshot else None,
            branch=branch,
            notes=order.of.start.notes,
            self_check=self_check,
        )
        if branch is None and not held.released and not _broken([episode]):
            taken = len(episode.steps)
            raise NotReplayable(f"{order.of.id} ended after {taken} of {order.step} steps when replayed")
        exact = exact or held.exact
        done.append(episode)
    return done


def cut_short(order: BranchOrder, done: Sequence[Trajectory]) -> str | None:
    """Why there are fewer branches than ordered: the last one broke; None where there are as many."""
    end = done[-1].end if done else None
    if end is None or end.failure is None:
        return None
    broke = f"{end.failure}: {end.failure_detail}"
    return f"{len(done) - 1} of {order.episodes} branches; the next one broke: {broke}"


def _broken(episodes: Sequence[Trajectory]) -> bool:
    return bool(episodes) and (end := episodes[-1].end) is not None and end.failure is not None


class _Held:
    """Writes nothing before the episode has arrived: what it began with lies in the recorded one."""

    def __init__(self, sink: StepSink, order: BranchOrder) -> None:
        self.released = False
        self.exact = ""
        self._sink, self._order = sink, order
        self._start: TrajectoryStart | None = None
        self._steps: list[Step] = []

    async def release(self, exact: bool) -> None:
        assert self._start is not None
        self.exact = "yes" if exact else "no"
        where = {BRANCH_OF: self._order.of.id, SHARED_TURNS: str(self._order.step), EXACT: self.exact}
        await self._sink.begin(replace(self._start, labels={**self._start.labels, **where}))
        for step in self._steps:
            await self._sink.step(self._start.id, step)
        self.released = True

    async def begin(self, start: TrajectoryStart) -> None:
        self._start = start

    async def step(self, trajectory_id: str, step: Step) -> None:
        if self.released:
            await self._sink.step(trajectory_id, step)
        else:
            self._steps.append(step)

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        if self.released:
            await self._sink.end(trajectory_id, end)
