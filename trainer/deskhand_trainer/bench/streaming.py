"""What waiting costs: four ways to roll out and train, over simulated environments that hang and die.

No model and no browser: replies and updates only take their time, and so do environments, whose latencies are
lognormal. All ways learn from as many episodes, of the same seeds but where others take the place of what is
too old, and spend the same time on learning from as many. What is too old (by `max_staleness`, as a run has
it by default; where updates are smaller, as much more) costs time and is no throughput.

- lock-step: all environments of a batch take a turn, and wait for the slowest (vectorised environments).
- synchronous: episodes are independent; the trainer waits for the batch, the environments for the trainer.
- asynchronous: environments go on while it trains (`deskhand_trainer.streaming`).
- streaming: the same, and it begins as soon as finished episodes have enough turns.
"""

from __future__ import annotations

import asyncio
import math
import random
import statistics
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from deskhand_agent.episode import run_episode
from deskhand_agent.sinks import MemorySink
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, run_episodes
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import DeviceAction, Limits, Observation, Split, Start, Task, Wait
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.results import Figure
from deskhand_trainer.streaming import START, RolloutStream, StreamSettings, StreamState

LOCK_STEP, SYNCHRONOUS, ASYNCHRONOUS, STREAMING = "lock-step", "synchronous", "asynchronous", "streaming"
BOUND = PpoConfig().max_staleness
SMALLER = 4
"""Streaming's updates are of as much fewer turns."""
BOUNDS = {ASYNCHRONOUS: BOUND, STREAMING: BOUND * SMALLER}
"""Updates between an episode's begin and its learning, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What is simulated."""

    environments: int = 16
    batch: int = 32
    """Episodes an update learns from."""
    updates: int = 6
    latency_ms: float = 40.0
    """Median of an environment's answer."""
    sigma: float = 1.0
    """Of its logarithm."""
    mean_turns: float = 8.0
    most_turns: int = 24
    hangs: float = 0.02
    """Share of episodes in which an environment stops answering."""
    crashes: float = 0.01
    """Share of those in which it dies."""
    reply_ms: float = 10.0
    update_ms: float = 800.0
    deadline_s: float = 2.0
    """After which an environment counts as hung."""


@dataclass(slots=True)
class Seen:
    """What one way came to: episodes learned from, but where it says otherwise."""

    episodes: int = 0
    turns: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0
    """Environments with an episode under way, added up."""
    steps_ms: list[float] = field(default_factory=list[float])
    """Of every turn, waiting for others included."""
    staleness: list[int] = field(default_factory=list[int])
    """Updates between the begin of an episode and its learning."""
    beyond: int = 0
    """Episodes that were too old to be learned from."""

    def note(self, trajectory: Trajectory) -> None:
        """Count one that came to a verdict."""
        if trajectory.end is not None and trajectory.end.outcome is not None:
            self.episodes += 1
            self.turns += len(trajectory.steps)
            self.steps_ms += [step.timings.model_ms + step.timings.act_ms for step in trajectory.steps]


class _Slow(FakeSandbox):
    """Answers when its time has come, or never."""

    def __init__(self, load: Load, seen: Seen) -> None:
        super().__init__({})
        self._load, self._seen = load, seen
        self._draw = random.Random(0)
        self._since: float | None = None

    async def reset(self, task: Task) -> Start:
        self._ended()
        self._since = self._last = time.monotonic()
        self._draw = random.Random(f"latency/{task.seed}")
        fate = self._draw.random()
        self._hangs = fate < self._load.hangs
        self._dies = self._load.hangs <= fate < self._load.hangs + self._load.crashes
        return await super().reset(task)

    async def act(self, action: DeviceAction) -> Observation:
        if self._hangs:
            await asyncio.Event().wait()
        latency_s = self._load.latency_ms / 1000 * math.exp(self._load.sigma * self._draw.gauss(0, 1))
        await asyncio.sleep(min(latency_s, self._load.deadline_s / 2))
        if self._dies:
            self._die("died, as it was told")
        seen = await super().act(Wait(seconds=0.0))
        self._last = time.monotonic()
        return seen

    async def close(self) -> None:
        self._ended()
        await super().close()

    def _ended(self) -> None:
        if self._since is not None:
            # a hung one is busy until its deadline frees it
            last = time.monotonic() if self._hangs else self._last
            self._seen.busy_s += last - self._since
            self._since = None


class _Source:
    def __init__(self, load: Load, seen: Seen) -> None:
        self._load, self._seen = load, seen

    @asynccontextmanager
    async def lease(self, kind: str, **_: Any) -> AsyncGenerator[Sandbox]:
        async with _Slow(self._load, self._seen) as sandbox:
            yield sandbox


class _Replies:
    """Takes the time of a reply, and says by which weights."""

    id = "simulated"
    reads_state = False

    def __init__(self, load: Load) -> None:
        self._reply_s = load.reply_ms / 1000
        self.update = 0

    async def act(self, context: Context) -> Decision:
        await asyncio.sleep(self._reply_s)
        return Decision(actions=(Wait(seconds=0.0),), text="wait")


def task_of(load: Load, number: int) -> Task:
    """Episode after episode, each of a length of its own."""
    draw = random.Random(f"turns/{number}")
    turns = min(load.most_turns, 1 + int(draw.expovariate(1 / max(1e-9, load.mean_turns - 0.5))))
    return replace(
        make_task("fake/never-done", number), limits=Limits(turns=turns, seconds=600.0), instruction="go"
    )


def _settings(load: Load) -> WorkerSettings:
    deadlines = replace(Deadlines(), act_s=load.deadline_s)
    return WorkerSettings(concurrency=load.environments, deadlines=deadlines, retries=0, backoff_s=0.0)


async def _synchronous(load: Load, seen: Seen) -> None:
    policy = _Replies(load)
    for update in range(load.updates):
        numbers = range(update * load.batch, (update + 1) * load.batch)
        await run_episodes(
            [Job(task=task_of(load, number), split=Split.TRAIN) for number in numbers],
            source=_Source(load, seen), policy=policy, sink=MemorySink(),
            settings=_settings(load), on_done=seen.note,
        )  # fmt: skip
        await asyncio.sleep(load.update_ms / 1000)


class _Barrier:
    """Lets everybody on when all that are still at work have come."""

    def __init__(self, parties: int) -> None:
        self._left, self._came = parties, 0
        self._open = asyncio.Event()

    async def wait(self) -> None:
        self._came += 1
        gate = self._open
        self._check()
        await gate.wait()

    def leave(self) -> None:
        """One will not come any more."""
        self._left -= 1
        self._check()

    def _check(self) -> None:
        if self._came >= self._left:
            self._came = 0
            self._open.set()
            self._open = asyncio.Event()


class _InStep(_Replies):
    def __init__(self, load: Load, barrier: _Barrier) -> None:
        super().__init__(load)
        self._barrier = barrier

    async def act(self, context: Context) -> Decision:
        await self._barrier.wait()
        return await super().act(context)


async def _lock_step(load: Load, seen: Seen) -> None:
    for update in range(load.updates):
        for first in range(0, load.batch, load.environments):
            count = min(load.environments, load.batch - first)
            barrier = _Barrier(count)
            numbers = [update * load.batch + first + n for n in range(count)]

            async def one(number: int, barrier: _Barrier = barrier) -> None:
                try:
                    async with _Slow(load, seen) as sandbox:
                        task = task_of(load, number)
                        done = await run_episode(
                            task, sandbox=sandbox, policy=_InStep(load, barrier),
                            verifier=create_verifier(task.verifier), sink=MemorySink(), split=Split.TRAIN,
                            deadlines=_settings(load).deadlines,
                        )  # fmt: skip
                finally:
                    barrier.leave()
                seen.note(done)

            await asyncio.gather(*(one(number) for number in numbers))
        await asyncio.sleep(load.update_ms / 1000)


async def _stream(load: Load, seen: Seen, *, turns: int, bound: int) -> None:
    policy = _Replies(load)

    def age(trajectory: Trajectory) -> int:
        return policy.update - trajectory.start.policy_update

    rollouts = RolloutStream(
        lambda number: [Job(task=task_of(load, number), labels={START: str(number)}, split=Split.TRAIN)],
        state=StreamState(),
        policy=policy,
        source=_Source(load, seen),
        sink=MemorySink(),
        settings=StreamSettings(ahead=load.batch + load.environments),
        worker=_settings(load),
        owner="bench",
        policy_update=lambda: policy.update,
    )
    try:
        wanted = load.updates * load.batch
        while wanted > 0:
            taken = await rollouts.batch(
                starts=min(load.batch, wanted), turns=turns, fresh=lambda t: age(t) <= bound
            )
            starts = taken.starts - len(taken.stale)
            wanted -= starts
            for trajectory in taken.trajectories:
                seen.note(trajectory)
            seen.staleness += map(age, taken.trajectories)
            seen.beyond += len(taken.stale)
            # an update of fewer episodes takes as much less
            await asyncio.sleep(load.update_ms / 1000 * starts / load.batch)
            policy.update += 1
    finally:
        await rollouts.close()


WAYS: Mapping[str, Callable[[Load, Seen], Coroutine[Any, Any, None]]] = {
    LOCK_STEP: _lock_step,
    SYNCHRONOUS: _synchronous,
    ASYNCHRONOUS: lambda load, seen: _stream(load, seen, turns=0, bound=BOUNDS[ASYNCHRONOUS]),
    STREAMING: lambda load, seen: _stream(
        load, seen, turns=max(1, int(load.batch * load.mean_turns / SMALLER)), bound=BOUNDS[STREAMING]
    ),
}


async def measured(way: str, load: Load) -> Seen:
    """One way, once."""
    seen, began = Seen(), time.monotonic()
    await WAYS[way](load, seen)
    seen.seconds = time.monotonic() - began
    return seen


def bench_streaming(load: Load, *, repeats: int, command: str, say: Callable[[str], None]) -> list[Figure]:
    """Every way in turns, `repeats` times; ratios are of one repeat's runs."""
    runs: dict[str, list[Seen]] = {way: [] for way in WAYS}
    for repeat in range(repeats):
        for way, found in runs.items():
            found.append(asyncio.run(measured(way, load)))
            say(f"{repeat + 1}/{repeats} {way:13} {_rate(found[-1]):7.1f} episodes/min")
    told: dict[str, Any] = {
        "command": command,
        "config": {**asdict(load), "repeats": repeats},
        "seeds": "0..",
    }
    figures = [
        spread(
            f"simulated_{way.replace('-', '_')}_per_min", [_rate(seen) for seen in found], "episodes/min",
            note="finished episodes that are learned from, simulated environments", **told,
        )
        for way, found in runs.items()
    ]  # fmt: skip
    for name, other in (("async_vs_sync", LOCK_STEP), ("async_vs_independent_sync", SYNCHRONOUS)):
        pairs = zip(runs[STREAMING], runs[other], strict=True)
        ratios = [(a.turns / a.seconds) / (b.turns / b.seconds) for a, b in pairs]
        note = f"turns of finished episodes that are learned from, a minute, streaming over {other}"
        figures.append(spread(name, ratios, "times", goal=">= 3", note=note, **told))
    for way, found in runs.items():
        figures += _of_way(way, found, load, told)
    return figures


def _of_way(way: str, found: Sequence[Seen], load: Load, told: Mapping[str, Any]) -> list[Figure]:
    """How well it used its environments, how long its slowest turns took, and how old what it learned was."""
    called, goal = f"simulated_{way.replace('-', '_')}", None
    names = {key: f"{called}_{key}" for key in ("env_use", "staleness", "beyond_bound")}
    if way == STREAMING:
        names, goal = {key: f"simulated_{key}" for key in names} | {"env_use": "env_use_vs_ideal"}, ">= 0.95"
    figures = [
        spread(
            names["env_use"], [seen.busy_s / (load.environments * seen.seconds) for seen in found], "share",
            goal=goal, **told,
            note=f"{way}: time environments have an episode under way, hung ones too; ideal: all of it",
        ),
        spread(
            f"{called}_p99_ms", [statistics.quantiles(seen.steps_ms, n=100)[-1] for seen in found], "ms",
            note="99th percentile of a turn, waiting for others included", **told,
        ),
    ]  # fmt: skip
    if ages := [float(age) for seen in found for age in seen.staleness]:
        note = f"{way}: updates between an episode's begin and its learning"
        figures.append(spread(names["staleness"], ages, "updates", note=note, **told))
        shares = [seen.beyond / (seen.beyond + seen.episodes) for seen in found]
        note = f"{way}: episodes begun more than {BOUNDS[way]} updates before, left out of throughput"
        figures.append(spread(names["beyond_bound"], shares, "share", note=note, **told))
    return figures


def _rate(seen: Seen) -> float:
    return 60 * seen.episodes / seen.seconds


def spread(name: str, values: Sequence[float], unit: str, *, note: str, **told: Any) -> Figure:
    low, middle, high = min(values), statistics.median(values), max(values)
    if "low and high" not in note:
        note += "; median, low and high: least and most"
    return Figure(
        name=name,
        value=round(middle, 3),
        low=round(low, 3),
        high=round(high, 3),
        unit=unit,
        note=note,
        **told,
    )
