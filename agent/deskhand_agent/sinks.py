"""A step sink that keeps everything in memory, for tools, tests and callers without a store."""

from __future__ import annotations

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart


class MemorySink:
    """Keeps each trajectory as it was written."""

    def __init__(self) -> None:
        self._starts: dict[str, TrajectoryStart] = {}
        self._steps: dict[str, list[Step]] = {}
        self._ends: dict[str, TrajectoryEnd] = {}

    async def begin(self, start: TrajectoryStart) -> None:
        if start.id in self._starts:
            raise ValueError(f"trajectory {start.id} has begun already: every episode needs an id of its own")
        self._starts[start.id] = start
        self._steps[start.id] = []

    async def step(self, trajectory_id: str, step: Step) -> None:
        self._require_open(trajectory_id)
        expected = len(self._steps[trajectory_id])
        if step.index != expected:
            raise ValueError(f"step {step.index} of {trajectory_id} came where step {expected} was due")
        self._steps[trajectory_id].append(step)

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        self._require_open(trajectory_id)
        self._ends[trajectory_id] = end

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """Everything written so far, in the order the episodes began."""
        return tuple(
            Trajectory(start=start, steps=tuple(self._steps[id_]), end=self._ends.get(id_))
            for id_, start in self._starts.items()
        )

    def _require_open(self, trajectory_id: str) -> None:
        if trajectory_id not in self._starts:
            raise ValueError(f"trajectory {trajectory_id} has not begun: call begin first")
        if trajectory_id in self._ends:
            raise ValueError(f"trajectory {trajectory_id} has ended: nothing can be added to it")
