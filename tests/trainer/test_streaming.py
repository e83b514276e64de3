"""Rollouts that go on while the trainer learns: order, bounds, groups, stalls, deaths."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Trajectory
from deskhand_agent.worker import Job, WorkerSettings
from deskhand_sandbox.backends.fake import FakeBackend, FakeSandbox
from deskhand_sandbox.host.client import SandboxClient
from deskhand_sandbox.manager.records import ManagerStatus, PoolStatus
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Limits, Task
from deskhand_trainer import silence, streaming
from deskhand_trainer.errors import RolloutsStalled
from deskhand_trainer.streaming import START, RolloutStream, StreamSettings, StreamState

pytestmark = pytest.mark.usefixtures("simulated_time")

SETTINGS = StreamSettings(ahead=4, stall_s=5.0)
WORKER = WorkerSettings(concurrency=3)


class Misses:
    """Clicks where nothing is, so that an episode lasts to its limit."""

    id = "misses"
    reads_state = False

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Click(x=0, y=0),), text="click")


class Fakes:
    """Lends fake sandboxes."""

    @asynccontextmanager
    async def lease(self, kind: str, **_: Any) -> AsyncGenerator[FakeSandbox]:
        async with await FakeBackend({}).create() as sandbox:
            yield sandbox


def task(turns: int, **settings: Any) -> Task:
    made = make_task("fake/never-done", 0)
    environment = replace(made.environment, settings={**made.environment.settings, **settings})
    return replace(made, environment=environment, limits=Limits(turns=turns, seconds=30.0))


class Made:
    """Which start states were begun, in order."""

    def __init__(self, *, group: int = 1, **settings: Any) -> None:
        self.begun: list[int] = []
        self.group, self.settings = group, settings

    def __call__(self, number: int) -> Sequence[Job]:
        self.begun.append(number)
        job = Job(task=task(1 + number % 3, **self.settings), labels={START: str(number)})
        return [job] * self.group


def stream(made: Callable[[int], Sequence[Job]], **changes: Any) -> RolloutStream:
    told: dict[str, Any] = {"state": StreamState(), "sink": MemorySink(), "settings": SETTINGS, **changes}
    shared: dict[str, Any] = {"source": Fakes(), "worker": WORKER, "owner": "t", "policy_update": lambda: 0}
    return RolloutStream(made, policy=Misses(), **{**shared, **told})


def starts(trajectories: Sequence[Trajectory]) -> list[int]:
    return [int(t.start.labels[START]) for t in trajectories]


async def test_each_start_state_is_taken_once_and_never_too_many_are_begun() -> None:
    made, seen = Made(delay_s=0.001), list[int]()
    rollouts = stream(made)
    for _ in range(5):
        taken = await rollouts.take(starts=3)
        assert taken.starts == len(taken.trajectories) == 3
        seen += starts(taken.trajectories)
        await asyncio.sleep(0.02)
        assert len(made.begun) <= len(seen) + SETTINGS.ahead
    await rollouts.close()
    assert len(seen) == len(set(seen)) == 15
    assert made.begun == list(range(len(made.begun)))
    assert all(rollouts.state.taken(number) for number in seen)


async def test_rollouts_go_on_while_nobody_takes() -> None:
    made = Made(delay_s=0.005)
    sink = MemorySink()
    rollouts = stream(made, sink=sink)
    async with asyncio.timeout(60):
        while sum(t.end is not None for t in sink.trajectories) < SETTINGS.ahead:
            await asyncio.sleep(0.01)
    taken = await rollouts.take(starts=4)
    assert sorted(starts(taken.trajectories)) == [0, 1, 2, 3]
    await rollouts.close()


async def test_while_it_is_paused_no_episode_begins() -> None:
    sink = MemorySink()
    rollouts = stream(Made(), sink=sink)
    first = await rollouts.take(starts=4)
    with rollouts.paused():
        async with asyncio.timeout(60):
            while any(t.end is None for t in sink.trajectories):
                await asyncio.sleep(0.001)
        begun = len(sink.trajectories)
        assert begun < 8, "there is room for more"
        await asyncio.sleep(0.05)
        assert len(sink.trajectories) == begun
    second = await rollouts.take(starts=4)
    await rollouts.close()
    assert sorted(starts(first.trajectories) + starts(second.trajectories)) == list(range(8))


async def test_a_group_is_taken_whole() -> None:
    rollouts = stream(Made(group=3, delay_s=0.002))
    taken = await rollouts.take(starts=2)
    await rollouts.close()
    names = starts(taken.trajectories)
    assert len(names) == 6
    assert names == sorted(names, key=names.index)
    assert len(set(names[:3])) == len(set(names[3:])) == 1


async def test_training_may_begin_with_fewer_that_have_enough_turns() -> None:
    rollouts = stream(Made(delay_s=0.002))
    taken = await rollouts.take(starts=4, turns=2)
    await rollouts.close()
    assert sum(len(t.steps) for t in taken.trajectories) >= 2
    assert taken.starts < 4


def all_but(*stale: int) -> Callable[[Trajectory], bool]:
    """Fresh is what is of other start states than these."""
    return lambda trajectory: starts([trajectory])[0] not in stale


async def test_others_take_the_place_of_what_is_too_old() -> None:
    rollouts = stream(Made())
    taken = await rollouts.batch(starts=4, fresh=all_but(0, 1, 2))
    assert sorted(starts(taken.stale)) == [0, 1, 2]
    assert len(taken.trajectories) == 4 and taken.starts == 7
    few = await rollouts.batch(starts=4, turns=4, fresh=all_but(*range(9)))
    await rollouts.close()
    assert sum(len(t.steps) for t in few.trajectories) >= 4
    # learned from once, and never what was left out
    assert {*starts(few.stale)} <= {7, 8} and min(starts(few.trajectories)) > 8


async def test_of_a_group_of_which_one_is_left_nothing_is_learned_where_groups_are_compared() -> None:
    seen: list[int] = []

    def old(trajectory: Trajectory) -> bool:
        """Of the first start state all but one, and one of the second's."""
        number = starts([trajectory])[0]
        seen.append(number)
        return seen.count(number) <= {0: 1, 1: 2}.get(number, 3)

    rollouts = stream(Made(group=3))
    taken = await rollouts.batch(starts=2, fresh=old, least=2)
    await rollouts.close()
    left = starts(taken.trajectories)
    assert sum(left.count(number) >= 2 for number in set(left)) == 2
    assert taken.starts - left.count(0) == 2 and len(taken.stale) == seen.count(0) - left.count(0) + 1


async def test_a_batch_that_never_fills_ends_a_stream_and_one_that_fills_slowly_does_not() -> None:
    rollouts = stream(Made())
    taken = await rollouts.batch(starts=2, fresh=lambda t: starts([t])[0] % 15 == 14)
    assert sorted(starts(taken.trajectories)) == [14, 29]
    with pytest.raises(
        RolloutsStalled, match=r"of 10 batches no episode .* \({'stale': 20}\): .*max_staleness"
    ):
        await rollouts.batch(starts=2, fresh=lambda _: False)
    await rollouts.close()


async def test_what_breaks_is_counted_and_its_group_goes_on_without_it() -> None:
    rollouts = stream(Made(crash_at=0))
    taken = await rollouts.take(starts=2)
    await rollouts.close()
    assert taken.trajectories == ()
    assert taken.starts == 2
    assert taken.dropped.keys() == {"sandbox_died"}
    assert taken.dropped["sandbox_died"] >= 2


async def test_a_stall_is_told_with_its_cause_and_ends_in_an_error() -> None:
    told: list[str] = []
    settings = replace(SETTINGS, stall_s=0.03)
    rollouts = stream(Made(delay_s=30.0), settings=settings, on_stall=told.append)
    with pytest.raises(RolloutsStalled, match=r"came to a verdict for 0\.15 s: environments do not"):
        await rollouts.take(starts=1)
    await rollouts.close()
    assert told == ["environments do not answer"] * 5
    told.clear()
    rollouts = stream(Made(delay_s=30.0), settings=settings, on_stall=told.append, waiting=lambda: 7)
    with pytest.raises(RolloutsStalled):
        await rollouts.take(starts=1)
    await rollouts.close()
    assert told[0] == "inference has 7 requests it has not answered"


class Boots(SandboxClient):
    """A host whose machines are cold, and which makes its sandboxes until somebody says otherwise."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self.makes, self.made = True, asyncio.Event()

    async def status(self) -> ManagerStatus:
        pool = PoolStatus(
            name="fake", kind="fake", labels={}, max_sandboxes=3, leased=0, idle=0, creating=3 * self.makes,
            closing=0, queued=3, created=0, lost={},
        )  # fmt: skip
        return ManagerStatus(draining=False, pools=(pool,), leases=(), orphans_ended=0)

    @asynccontextmanager
    async def lease(self, kind: str, **_: Any) -> AsyncGenerator[Any]:
        await self.made.wait()
        async with Fakes().lease(kind) as sandbox:
            yield sandbox


async def test_sandboxes_that_are_being_made_are_waited_for_and_named() -> None:
    host, told = Boots(), list[str]()

    def stalled(cause: str) -> None:
        told.append(cause)
        host.made.set() if len(told) == 7 else None

    rollouts = stream(Made(), source=host, settings=replace(SETTINGS, stall_s=0.1), on_stall=stalled)
    taken = await rollouts.take(starts=1)
    await rollouts.close()
    assert len(taken.trajectories) == 1 and told[:7] == ["sandboxes are still being made"] * 7


async def test_once_no_sandbox_is_being_made_a_stall_counts_from_there() -> None:
    host, told = Boots(), list[str]()

    def stalled(cause: str) -> None:
        told.append(cause)
        host.makes = len(told) < 3

    rollouts = stream(Made(), source=host, settings=replace(SETTINGS, stall_s=0.03), on_stall=stalled)
    with pytest.raises(RolloutsStalled, match=r"for 0\.24 s: environments do not answer"):
        await rollouts.take(starts=1)
    await rollouts.close()
    assert told == ["sandboxes are still being made"] * 3 + ["environments do not answer"] * 5


async def test_who_waits_for_a_batch_is_told_that_sandboxes_are_being_made() -> None:
    host, told, over = Boots(), list[str](), asyncio.Event()

    def stalled(cause: str) -> None:
        told.append(cause)
        host.makes = len(told) < 2
        over.set() if len(told) == 3 else None

    waiting = silence.Silence(stall_s=0.01, waiting=lambda: 0, on_stall=stalled)
    async with asyncio.timeout(60), waiting.told_of(host):
        await over.wait()
    assert told[:3] == ["sandboxes are still being made"] * 2 + ["environments do not answer"]


async def test_a_stall_that_is_the_judges_names_it() -> None:
    """The episodes have ended, and environments answer: their verdicts are missing."""
    told: list[str] = []

    async def never(trajectory: Trajectory) -> Trajectory:
        await asyncio.Event().wait()
        return trajectory

    rollouts = stream(
        Made(), settings=replace(SETTINGS, stall_s=0.2), on_stall=told.append, pay=never, waiting=lambda: 1
    )
    with pytest.raises(RolloutsStalled, match="4 episodes have ended and wait for the judge"):
        await rollouts.take(starts=1)
    await rollouts.close()
    assert told[-1] == "4 episodes have ended and wait for the judge"


async def test_episodes_that_break_at_once_are_a_stall_however_many_do_and_over_how_many_batches() -> None:
    told, broken = list[str](), 0
    shared: dict[str, Any] = {"settings": replace(SETTINGS, stall_s=0.1), "on_stall": told.append}
    rollouts = stream(Made(crash_at=0), worker=replace(WORKER, backoff_s=0.001), **shared)
    with pytest.raises(RolloutsStalled, match=r"for 0\.5 s: episodes break outside the agent"):
        async with asyncio.timeout(20):
            while True:
                broken += sum((await rollouts.take(starts=2)).dropped.values())
    await rollouts.close()
    assert len(told) == 5
    (named,) = re.findall(r"\((\d+) sandbox_died\)", told[-1])
    assert int(named) >= broken > 2, "all of them, those of batches already taken too"


async def test_episodes_that_go_on_are_no_stall_however_long_they_last() -> None:
    def long(number: int) -> Sequence[Job]:
        return [Job(task=task(200, delay_s=0.01), labels={START: str(number)})]

    rollouts = stream(long, settings=replace(SETTINGS, stall_s=0.3))
    # longer than the silence after which a stream ends
    (episode,) = (await rollouts.take(starts=1)).trajectories
    await rollouts.close()
    assert len(episode.steps) == 200


async def test_one_that_breaks_makes_no_stall_of_those_that_go_on() -> None:
    def one_crashes(number: int) -> Sequence[Job]:
        crashes = {"crash_at": 3} if number == 0 else {}
        return [Job(task=task(200, delay_s=0.01, **crashes), labels={START: str(number)})]

    told: list[str] = []
    worker = replace(WORKER, retries=0)
    rollouts = stream(
        one_crashes, settings=replace(SETTINGS, stall_s=0.3), worker=worker, on_stall=told.append
    )
    taken = await rollouts.take(starts=2)
    await rollouts.close()
    assert taken.dropped == {"sandbox_died": 1}
    assert [len(each.steps) for each in taken.trajectories] == [200]


async def test_episodes_that_all_break_are_a_stall_whatever_turns_they_have_before() -> None:
    def crashes(number: int) -> Sequence[Job]:
        return [Job(task=task(200, delay_s=0.01, crash_at=3 + number % 3), labels={START: str(number)})]

    settings = StreamSettings(ahead=1000, stall_s=0.2)
    rollouts = stream(crashes, settings=settings, worker=replace(WORKER, backoff_s=0.0))
    with pytest.raises(RolloutsStalled, match=r"for 1 s: episodes break outside the agent"):
        await rollouts.take(starts=1000)
    await rollouts.close()


async def test_time_in_which_nobody_waits_for_episodes_is_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    for module in (streaming, silence):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now_s))
    told: list[str] = []
    rollouts = stream(Made(), on_stall=told.append)
    for _ in range(3):
        await rollouts.take(starts=4)
        with rollouts.paused():
            now_s += 1000 * SETTINGS.stall_s
    await rollouts.close()
    assert not told


async def test_an_error_of_the_rollouts_reaches_whoever_takes() -> None:
    class Broken(MemorySink):
        async def begin(self, start: Any) -> None:
            raise OSError("disk full")

    rollouts = stream(Made(), sink=Broken())
    with pytest.raises(OSError, match="disk full"):
        await rollouts.take(starts=1)
    await rollouts.close()


async def test_more_than_may_be_begun_are_refused() -> None:
    rollouts = stream(Made())
    with pytest.raises(ValueError, match="5 start states are more than"):
        await rollouts.take(starts=5)
    await rollouts.close()


async def test_a_later_life_takes_what_ended_and_begins_only_what_did_not() -> None:
    sink, state = MemorySink(), StreamState()
    first = stream(Made(delay_s=0.002), sink=sink, state=state)
    learned = starts((await first.take(starts=2)).trajectories)
    await asyncio.sleep(0.2)
    await first.close()
    ended = [t for t in sink.trajectories if t.end is not None and t.end.outcome is not None]
    assert len(ended) > 2
    made = Made(delay_s=0.002)
    second = stream(made, sink=sink, state=state, finished=ended)
    again = starts((await second.take(starts=4)).trajectories)
    await second.close()
    assert not set(learned) & set(again)
    waiting = set(starts(ended)) - set(learned)
    assert waiting <= set(again)
    begun = {t.id for t in ended}
    fresh = [t for t in sink.trajectories if t.id not in begun and t.end and t.end.outcome is not None]
    assert not set(starts(fresh)) & set(starts(ended))


async def test_a_later_life_goes_on_with_the_tasks_that_start_states_were_begun_with() -> None:
    sink, state = MemorySink(), StreamState()
    first = stream(Made(group=2, delay_s=0.002), sink=sink, state=state)
    await first.take(starts=SETTINGS.ahead)
    await first.close()
    half = next(t for t in sink.trajectories if starts([t]) == [0])

    def another(number: int) -> Sequence[Job]:
        return [Job(task=task(9), labels={START: str(number)}, group_id="another")] * 2

    second = stream(another, state=StreamState(), finished=[half])
    pair = (await second.take(starts=1)).trajectories
    await second.close()
    of_first = [t for t in pair if starts([t]) == [0]]
    assert all(t.start.task == half.start.task and t.start.group_id == half.start.group_id for t in of_first)


@given(st.lists(st.integers(0, 30), max_size=40))
def test_what_is_taken_is_known_whatever_the_order(numbers: list[int]) -> None:
    state = StreamState()
    for number in numbers:
        state.take([number])
    assert {n for n in range(40) if state.taken(n)} == set(numbers)
    assert all(number > state.first for number in state.beyond)
