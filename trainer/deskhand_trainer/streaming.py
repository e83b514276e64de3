"""Rollouts that never wait for the trainer: episodes go on while it learns, and it begins when enough ended.

After DART (arXiv:2509.23866): environments, inference, data and training are four parts that only pass on
what is finished. An episode under way goes on with whatever weights serve its next turn; each turn says which
those were. How old they may be is bounded by how many episodes may be begun ahead of what was learned.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from deskhand_agent.stream import stream_episodes
from deskhand_agent.types import Policy, Step, StepSink, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_agent.worker import Job, WorkerSettings
from deskhand_flywheel.types import JudgeTrouble
from deskhand_sandbox.base import SandboxSource
from deskhand_trainer.errors import RolloutsStalled
from deskhand_trainer.outcome_reward import Pay, by_verifier
from deskhand_trainer.rollouts import to_learn_from

START = "start"
"""Label of a job: number of its start state in the stream."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSettings:
    """How rollouts run ahead of training."""

    ahead: int
    """Start states begun and not yet learned from, at most: those of a batch, and as many more as are under
    way at a time, so that nobody waits for a batch's last ones."""
    stall_s: float = 120.0
    """Where the trainer waits for so long, no episode comes to a verdict and none has a turn, there is an
    alarm; after five times as long, the end. What breaks outside the agent comes to no verdict, and while
    episodes do, turns say nothing."""


@dataclass(slots=True)
class StreamState:
    """What of a stream is learned from; part of every checkpoint."""

    first: int = 0
    """All start states before this one are."""
    beyond: list[int] = field(default_factory=list[int])
    """Later ones that are."""

    def take(self, numbers: Iterable[int]) -> None:
        """These are learned from now."""
        taken = {*self.beyond, *(number for number in numbers if number >= self.first)}
        while self.first in taken:
            taken.remove(self.first)
            self.first += 1
        self.beyond = sorted(taken)

    def taken(self, number: int) -> bool:
        return number < self.first or number in self.beyond


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """What was finished when the trainer came."""

    trajectories: tuple[Trajectory, ...]
    """With a verdict, whole groups one after another, in order of ending."""
    dropped: Mapping[str, int]
    """Episodes that broke outside the agent for good, by kind of failure."""
    starts: int
    """Start states they are of."""
    waited_s: float
    """By the trainer, for them to be finished."""


@dataclass(slots=True)
class _Group:
    """Episodes of one start state."""

    missing: int
    trajectories: list[Trajectory] = field(default_factory=list[Trajectory])


@dataclass(slots=True)
class _Silence:
    """Since an episode last came to a verdict or, where none broke since, had a turn."""

    since_s: float
    """Moved on by what the trainer did not wait for."""
    alarms: int = 0
    broken: Counter[str] = field(default_factory=Counter[str])
    """Episodes that came to none, by kind of failure."""


class _Heard:
    """A sink that tells of every turn."""

    def __init__(self, sink: StepSink, on_step: Callable[[], None]) -> None:
        self._sink, self._on_step = sink, on_step

    async def begin(self, start: TrajectoryStart) -> None:
        await self._sink.begin(start)

    async def step(self, trajectory_id: str, step: Step) -> None:
        await self._sink.step(trajectory_id, step)
        self._on_step()

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        await self._sink.end(trajectory_id, end)


class RolloutStream:
    """Episodes of start state after start state; `take` gives those that ended."""

    def __init__(
        self,
        make: Callable[[int], Sequence[Job]],
        *,
        state: StreamState,
        policy: Policy,
        source: SandboxSource,
        sink: StepSink,
        settings: StreamSettings,
        worker: WorkerSettings,
        owner: str,
        policy_update: Callable[[], int],
        waiting: Callable[[], int] = lambda: 0,
        on_stall: Callable[[str], None] = lambda _: None,
        pay: Pay = by_verifier,
        finished: Sequence[Trajectory] = (),
    ) -> None:
        """
        Args:
            make: the jobs of the n-th start state, each labelled with it under `START`.
            state: which of them are learned from already; kept up to date.
            worker: how episodes are run.
            waiting: requests the inference engine has not answered, to name the cause of a stall.
            on_stall: told the cause.
            pay: asked about each episode as it ends, while others go on.
            finished: episodes of earlier lives that nobody learned from.
        """
        self._make, self.state, self._settings = make, state, settings
        self._waiting, self._on_stall, self._pay = waiting, on_stall, pay
        self._groups: dict[int, _Group] = {}
        self._ready: deque[int] = deque()
        self._dropped: Counter[str] = Counter()
        self._unpaid = 0
        """Episodes that have ended and wait for their verdict."""
        self._silence = _Silence(since_s=time.monotonic())
        self._waited_until_s = self._silence.since_s
        self._changed = asyncio.Condition()
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._begun = 0
        """Start states begun or found finished, and not yet taken."""
        self._number = state.first
        self._old: dict[int, list[Trajectory]] = {}
        for trajectory in finished:
            number = int(trajectory.start.labels.get(START, -1))
            if number >= 0 and not state.taken(number):
                self._old.setdefault(number, []).append(trajectory)
        self._running = asyncio.create_task(
            self._collect(
                stream_episodes(
                    self._jobs(),
                    source=source,
                    policy=policy,
                    sink=_Heard(sink, self._on_step),
                    settings=worker,
                    policy_update=policy_update,
                    owner=owner,
                )
            ),
            name="rollouts",
        )

    async def take(self, *, starts: int, turns: int = 0) -> Taken:
        """Wait until so many start states are finished, or finished episodes have so many turns; take them.

        Args:
            starts: taken at most.
            turns: 0: as many start states as asked for. Otherwise fewer will do that have so many turns.

        Raises:
            ValueError: more start states than the stream may begin.
            RolloutsStalled: no episode came to a verdict for far too long; the message names the cause.
            Exception: the rollouts ended by an error of their own.
        """
        if starts > self._settings.ahead:
            raise ValueError(
                f"{starts} start states are more than the {self._settings.ahead} that may be begun"
            )
        began = time.monotonic()
        await self._finished(starts, turns)
        numbers: list[int] = []
        found: list[Trajectory] = []
        while self._ready and len(numbers) < starts and (not numbers or not turns or _turns(found) < turns):
            numbers.append(self._ready.popleft())
            found += self._groups.pop(numbers[-1]).trajectories
        async with self._changed:
            self.state.take(numbers)
            self._begun -= len(numbers)
            self._changed.notify_all()
        dropped, self._dropped = dict(self._dropped), Counter()
        return Taken(
            trajectories=tuple(found),
            dropped=dropped,
            starts=len(numbers),
            waited_s=time.monotonic() - began,
        )

    @contextmanager
    def paused(self) -> Generator[None]:
        """No further episode begins meanwhile; those under way end, and leave their sandboxes to others."""
        self._goes_on.clear()
        try:
            yield
        finally:
            self._goes_on.set()

    async def close(self) -> None:
        """Stop what is under way; it is recorded as cancelled."""
        self._running.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._running

    async def _finished(self, starts: int, turns: int) -> None:
        def enough() -> bool:
            ready = [t for number in self._ready for t in self._groups[number].trajectories]
            many = len(self._ready) >= starts or bool(turns and _turns(ready) >= turns)
            return many or self._running.done()

        began_s = time.monotonic()
        self._silence.since_s += began_s - max(self._silence.since_s, self._waited_until_s)
        async with self._changed:
            while not enough():
                silence = self._silence
                next_s = silence.since_s + (silence.alarms + 1) * self._settings.stall_s
                try:
                    async with asyncio.timeout(next_s - time.monotonic()):
                        await self._changed.wait()
                except TimeoutError:
                    if silence is self._silence:
                        self._tell(silence)
        self._waited_until_s = time.monotonic()
        if self._running.done():
            self._running.result()
            raise RolloutsStalled("the stream of rollouts ended by itself")

    def _on_step(self) -> None:
        """Episodes may last for longer than the trainer waits in silence: those that go on are none."""
        if not self._silence.broken:
            self._silence = _Silence(since_s=time.monotonic())

    def _tell(self, silence: _Silence) -> None:
        """
        Raises:
            RolloutsStalled: it has been told of often enough.
        """
        silence.alarms += 1
        cause = self._cause(silence)
        self._on_stall(cause)
        if silence.alarms >= 5:
            seconds = silence.alarms * self._settings.stall_s
            raise RolloutsStalled(f"no episode came to a verdict for {seconds:g} s: {cause}") from None

    def _cause(self, silence: _Silence) -> str:
        """What keeps episodes from a verdict, as far as can be seen from here."""
        if silence.broken:
            kinds = ", ".join(f"{count} {kind}" for kind, count in silence.broken.most_common(3))
            return f"episodes break outside the agent ({kinds})"
        if self._unpaid:
            return f"{self._unpaid} episodes have ended and wait for the judge"
        asked = self._waiting()
        if asked:
            return f"inference has {asked} requests it has not answered"
        return "environments do not answer"

    async def _jobs(self) -> AsyncIterator[Job]:
        """Start states one after another, as long as there is room ahead of what is learned.

        One that had been begun in an earlier life stays of the task it was of, whatever its number makes now.
        """
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._begun < self._settings.ahead)
                number = self._number
                self._number += 1
                if self.state.taken(number):
                    continue
                self._begun += 1
                jobs = self._make(number)
                old = self._old.pop(number, [])
                if old:
                    begun = old[0].start
                    jobs = [replace(job, task=begun.task, group_id=begun.group_id) for job in jobs]
                done = [t for t in old if t.start.task == old[0].start.task][: len(jobs)]
                self._groups[number] = _Group(missing=len(jobs) - len(done), trajectories=done)
                if len(done) == len(jobs):
                    self._ready.append(number)
                    self._changed.notify_all()
            for job in jobs[len(done) :]:
                await self._goes_on.wait()
                yield job

    async def _collect(self, episodes: AsyncIterator[Trajectory]) -> None:
        try:
            async with asyncio.TaskGroup() as noting:
                async for trajectory in episodes:
                    noting.create_task(self._note(trajectory))
        except BaseExceptionGroup as errors:
            # the first is the cause; the others are what its cancellation stirred up
            raise errors.exceptions[0] from errors
        finally:
            async with self._changed:
                self._changed.notify_all()

    async def _note(self, trajectory: Trajectory) -> None:
        number = int(trajectory.start.labels[START])
        self._unpaid += 1
        paid = await self._pay(trajectory)
        self._unpaid -= 1
        end = trajectory.end
        broken: list[str] = []
        async with self._changed:
            group = self._groups[number]
            group.missing -= 1
            if isinstance(paid, JudgeTrouble):
                broken.append(f"judge_{paid}")
            elif to_learn_from(paid):
                group.trajectories.append(paid)
                self._silence = _Silence(since_s=time.monotonic())
            elif end is not None and end.failure is not None:
                broken.append(end.failure.value)
            self._dropped.update(broken)
            self._silence.broken.update(broken)
            if group.missing == 0:
                self._ready.append(number)
            self._changed.notify_all()


def _turns(trajectories: Iterable[Trajectory]) -> int:
    return sum(len(t.steps) for t in trajectories)
