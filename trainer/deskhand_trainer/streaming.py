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
from itertools import chain

from deskhand_agent.stream import stream_episodes
from deskhand_agent.types import Policy, Step, StepSink, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats
from deskhand_sandbox.base import SandboxSource
from deskhand_trainer.errors import RolloutsStalled
from deskhand_trainer.outcome_reward import Pay, by_verifier
from deskhand_trainer.rollouts import to_learn_from
from deskhand_trainer.silence import STALL_S, HeardSink, Silence, being_made

STALLS = 5
"""Alarms of one silence at the last of which the stream is given up, since sandboxes were last being made."""
START = "start"
"""Label of a job: number of its start state in the stream."""
FRUITLESS = 10
"""Batches of start states in a row without one to learn from that end a stream."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSettings:
    """How rollouts run ahead of training."""

    ahead: int
    """Start states begun and not yet learned from, at most: those of a batch, and as many more as are under
    way at a time, so that nobody waits for a batch's last ones."""
    stall_s: float = STALL_S
    """Of silence while the trainer waits, until there is an alarm; after five times as long in which no
    sandbox is being made, the end."""


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
    """With a verdict, whole groups one after another, in order of ending; those to learn from."""
    stale: tuple[Trajectory, ...] = ()
    """Left out as too old."""
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
        self._pay, self._source = pay, source
        self._groups: dict[int, _Group] = {}
        self._ready: deque[int] = deque()
        self._dropped: Counter[str] = Counter()
        self._silence = Silence(stall_s=settings.stall_s, waiting=waiting, on_stall=on_stall)
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
                    sink=HeardSink(sink, self._silence.turn),
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
        while self._ready and len(numbers) < starts and (not numbers or not turns or turns_of(found) < turns):
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

    async def batch(
        self, *, starts: int, turns: int = 0, fresh: Callable[[Trajectory], bool], least: int = 1
    ) -> Taken:
        """As `take`, of what can be learned from alone: while it is not enough, what there is waits for more.

        Args:
            fresh: whether an episode is young enough.
            least: episodes of a start state below which there is nothing to learn from it: it does not count.

        Raises:
            RolloutsStalled: as `take`; or `FRUITLESS` times as many start states brought none that counts.
        """
        kept: list[Trajectory] = []
        stale: list[Trajectory] = []
        dropped: Counter[str] = Counter()
        counted = counted_turns = barren = number = 0
        waited_s = 0.0
        while barren < FRUITLESS * starts:
            taken = await self.take(starts=starts - counted, turns=max(0, turns - counted_turns))
            groups: dict[str, list[Trajectory]] = {}
            for trajectory in taken.trajectories:
                if fresh(trajectory):
                    groups.setdefault(trajectory.start.labels[START], []).append(trajectory)
                else:
                    stale.append(trajectory)
            kept += chain.from_iterable(groups.values())
            dropped.update(taken.dropped)
            number, waited_s = number + taken.starts, waited_s + taken.waited_s
            counting = [group for group in groups.values() if len(group) >= least]
            counted += len(counting)
            counted_turns += turns_of(chain.from_iterable(counting))
            if counted >= starts or 0 < turns <= counted_turns:
                return Taken(
                    trajectories=tuple(kept),
                    stale=tuple(stale),
                    dropped=dropped,
                    starts=number,
                    waited_s=waited_s,
                )
            barren = 0 if counting else barren + taken.starts
        dropped["stale"] = len(stale)
        raise RolloutsStalled(
            f"of {FRUITLESS} batches no episode could be learned from ({dict(+dropped)}): where they are "
            "stale, raise max_staleness or lower concurrency"
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
            many = len(self._ready) >= starts or bool(turns and turns_of(ready) >= turns)
            return many or self._running.done()

        silence, began_s = self._silence, time.monotonic()
        silence.since_s += began_s - max(silence.since_s, self._waited_until_s)
        async with self._changed:
            while not enough():
                try:
                    async with asyncio.timeout(silence.next_s - time.monotonic()):
                        await self._changed.wait()
                except TimeoutError:
                    cause = silence.tell(making=await being_made(self._source))
                    if cause is not None and silence.unexcused >= STALLS:
                        seconds = silence.alarms * self._settings.stall_s
                        raise RolloutsStalled(
                            f"no episode came to a verdict for {seconds:g} s: {cause}"
                        ) from None
        self._waited_until_s = time.monotonic()
        if self._running.done():
            self._running.result()
            raise RolloutsStalled("the stream of rollouts ended by itself")

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
        paid, broken = await self._silence.paid(trajectory, self._pay)
        async with self._changed:
            group = self._groups[number]
            group.missing -= 1
            if isinstance(paid, Trajectory) and to_learn_from(paid):
                group.trajectories.append(paid)
            self._dropped.update(broken)
            if group.missing == 0:
                self._ready.append(number)
            self._changed.notify_all()


def turns_of(trajectories: Iterable[Trajectory]) -> int:
    """Of all of them together."""
    return sum(len(t.steps) for t in trajectories)


def drawn_by(trajectory: Trajectory) -> list[int]:
    """Updates that the weights of each of its turns had seen."""
    completions = (step.decision.completion for step in trajectory.steps)
    return [each.policy_update for each in completions if each is not None]


def as_older(trajectory: Trajectory, update: int) -> Trajectory:
    """With its turns of that update counted as of the one before: that other weights of the same number may
    have drawn them."""

    def older(step: Step) -> Step:
        done = step.decision.completion
        if done is None or done.policy_update != update:
            return step
        return replace(
            step, decision=replace(step.decision, completion=replace(done, policy_update=update - 1))
        )

    return replace(trajectory, steps=tuple(map(older, trajectory.steps)))


def stats_of(trajectories: Sequence[Trajectory], seconds: float) -> WorkerStats:
    """Of episodes taken from a stream; `seconds` is what the trainer waited for them."""
    steps = [step for t in trajectories for step in t.steps]
    return WorkerStats(
        episodes=len(trajectories),
        successes=sum(
            t.end is not None and t.end.outcome is not None and t.end.outcome.success for t in trajectories
        ),
        steps=len(steps),
        failures={},
        given_up=0,
        seconds=seconds,
        model_s=sum(step.timings.model_ms for step in steps) / 1000,
        act_s=sum(step.timings.act_ms for step in steps) / 1000,
    )
