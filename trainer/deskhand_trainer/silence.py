"""Rollouts that bring nothing: after how long that is an alarm, and what keeps them from it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from deskhand_agent.types import Step, StepSink, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.types import JudgeTrouble
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host.client import SandboxClient
from deskhand_trainer.outcome_reward import Pay
from deskhand_trainer.rollouts import to_learn_from

STALL_S = 120.0
"""Where somebody waits for so long, no episode comes to a verdict and none has a turn, there is an alarm; and
another after as long again. What breaks outside the agent comes to no verdict, and turns say nothing that no
episode had before it broke."""


class Silence:
    """Since an episode last came to a verdict or had a turn further than all that broke."""

    def __init__(
        self, *, stall_s: float, waiting: Callable[[], int], on_stall: Callable[[str], None]
    ) -> None:
        """
        Args:
            waiting: requests the inference engine has not answered, to name the cause.
            on_stall: told the cause.
        """
        self._stall_s, self._waiting, self._on_stall = stall_s, waiting, on_stall
        self._broken: Counter[str] = Counter()
        """Episodes that came to no verdict, by kind of failure."""
        self._furthest = 0
        """Turns of the longest of those since the last verdict."""
        self._unpaid = 0
        """Episodes that have ended and wait for their verdict."""
        self.alarms = 0
        self._excused = 0
        """Of these up to the last at which sandboxes were being made."""
        self.since_s = time.monotonic()
        """Moved on by what nobody waited for."""

    @property
    def next_s(self) -> float:
        """When it is told of next, by the monotonic clock."""
        return self.since_s + (self.alarms + 1) * self._stall_s

    @property
    def unexcused(self) -> int:
        """Alarms since sandboxes were last being made: cold machines take their time, and their host sees to
        it that this is no more than they may."""
        return self.alarms - self._excused

    def turn(self, index: int) -> None:
        """Episodes may last for longer than anybody waits in silence: one that goes on where others broke is
        none. Where all break, none gets further."""
        if index >= self._furthest:
            self._begin()

    async def paid(self, trajectory: Trajectory, pay: Pay) -> tuple[Trajectory | JudgeTrouble, list[str]]:
        """What an episode that ended is paid, and the failures by which it came to no verdict."""
        self._unpaid += 1
        try:
            paid = await pay(trajectory)
        finally:
            self._unpaid -= 1
        end = trajectory.end
        broken: list[str] = []
        if isinstance(paid, JudgeTrouble):
            broken.append(f"judge_{paid}")
        elif to_learn_from(paid):
            self._furthest = 0
            self._begin()
        elif end is not None and end.failure is not None:
            broken.append(end.failure.value)
        if broken:
            self._broken.update(broken)
            self._furthest = max(self._furthest, len(trajectory.steps))
        return paid, broken

    def tell(self, *, making: bool = False) -> str | None:
        """Tell of it where it has lasted long enough by now; the cause, if so.

        Args:
            making: sandboxes are being made, which excuses it as long as nothing broke.
        """
        if time.monotonic() < self.next_s:
            return None
        self.alarms += 1
        if making and not self._broken:
            self._excused = self.alarms
        cause = self._cause(making)
        self._on_stall(cause)
        return cause

    @asynccontextmanager
    async def told_of(self, source: SandboxSource) -> AsyncGenerator[None]:
        """Tell of it, whenever it has lasted long enough, for the length of the block.

        Args:
            source: of the sandboxes that episodes wait for.
        """
        telling = asyncio.create_task(self._telling(source), name="silence")
        try:
            yield
        finally:
            telling.cancel()

    async def _telling(self, source: SandboxSource) -> None:
        while True:
            await asyncio.sleep(max(0.0, self.next_s - time.monotonic()))
            self.tell(making=await being_made(source))

    def _begin(self) -> None:
        self.since_s, self.alarms, self._excused = time.monotonic(), 0, 0
        self._broken.clear()

    def _cause(self, making: bool) -> str:
        """What keeps episodes from a verdict, as far as can be seen from here."""
        if self._broken:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self._broken.most_common(3))
            return f"episodes break outside the agent ({kinds})"
        if self._unpaid:
            return f"{self._unpaid} episodes have ended and wait for the judge"
        asked = self._waiting()
        if asked:
            return f"inference has {asked} requests it has not answered"
        return "sandboxes are still being made" if making else "environments do not answer"


async def being_made(source: SandboxSource) -> bool:
    """Whether a host makes sandboxes that somebody waits for."""
    if not isinstance(source, SandboxClient):
        return False
    try:
        return any(pool.creating and pool.queued for pool in (await source.status()).pools)
    except SandboxError:
        return False


class HeardSink:
    """A sink that tells of every turn, by its number in the episode."""

    def __init__(self, sink: StepSink, on_turn: Callable[[int], None]) -> None:
        self._sink, self._on_turn = sink, on_turn

    async def begin(self, start: TrajectoryStart) -> None:
        await self._sink.begin(start)

    async def step(self, trajectory_id: str, step: Step) -> None:
        await self._sink.step(trajectory_id, step)
        self._on_turn(step.index)

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        await self._sink.end(trajectory_id, end)
