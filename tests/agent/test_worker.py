from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent import worker
from deskhand_agent.sinks import MemorySink
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Decision, Failure, Fault, Step, StopReason
from deskhand_agent.worker import Job, WorkerSettings, WorkerStats, run_episodes
from deskhand_sandbox.errors import (
    BackendMissing,
    HostUnreachable,
    InvalidTask,
    LeaseUnavailable,
    SandboxDied,
    UnknownName,
)
from deskhand_sandbox.types import Click, Split, VerifierSpec

pytestmark = pytest.mark.usefixtures("simulated_time")

SHORT = Deadlines(reset_s=0.2, model_s=0.2, act_s=0.2, verify_s=0.2)
QUICK = WorkerSettings(backoff_s=0.001, deadlines=SHORT)


@pytest.fixture(autouse=True)
def stub_verifier(stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry knows no verifier for the stub sandbox."""
    monkeypatch.setattr(worker, "create_verifier", lambda spec: stub.Rewards())


def jobs(stub: SimpleNamespace, count: int, **fields: Any) -> list[Job]:
    return [Job(task=stub.task(1 + number % 4), **fields) for number in range(count)]


async def run(stub: SimpleNamespace, jobs_: Any, **over: Any) -> tuple[WorkerStats, MemorySink, Any]:
    sink, source = MemorySink(), over.pop("source", stub.Source())
    arguments: dict[str, Any] = {"policy": stub.Policy(), "sink": sink, "settings": QUICK} | over
    return await run_episodes(jobs_, source=source, **arguments), sink, source


def flaky(stub: SimpleNamespace, broken: int, **troubles: Any) -> Any:
    """The first `broken` sandboxes have the troubles, the others none."""
    return stub.Source(lambda number: stub.Sandbox(f"stub-{number}", **(troubles if number < broken else {})))


async def test_sixteen_at_once(stub: SimpleNamespace) -> None:
    seen: list[str] = []
    stats, sink, source = await run(
        stub, jobs(stub, 64), concurrency=16, on_done=lambda trajectory: seen.append(trajectory.id)
    )
    assert (stats.episodes, stats.successes, stats.steps, stats.given_up) == (64, 64, 160, 0)
    assert stats.failures == {}
    assert source.most_out == 16
    assert source.out == 0
    assert sorted(seen) == sorted(trajectory.id for trajectory in sink.trajectories)
    assert stats.seconds > 0
    assert stats.model_s > 0


async def test_a_sandbox_is_kept_for_consecutive_jobs(stub: SimpleNamespace) -> None:
    _, _, source = await run(stub, jobs(stub, 20), concurrency=1)
    assert len(source.made) == 1
    assert len(source.made[0].resets) == 20


async def test_a_sandbox_is_given_back_after_its_share(stub: SimpleNamespace) -> None:
    settings = WorkerSettings(episodes_per_lease=3)
    _, _, source = await run(stub, jobs(stub, 8), concurrency=1, settings=settings)
    assert [len(sandbox.resets) for sandbox in source.made] == [3, 3, 2]


async def test_another_kind_gets_another_sandbox(stub: SimpleNamespace) -> None:
    mixed = [Job(task=stub.task(1, kind=kind)) for kind in ("a", "a", "b", "a")]
    stats, _, source = await run(stub, mixed, concurrency=1)
    assert (stats.episodes, len(source.made)) == (4, 3)


async def test_what_a_job_says_is_recorded(stub: SimpleNamespace) -> None:
    job = Job(task=stub.task(1), group_id="g", labels={"run": "r"}, split=Split.TEST)
    _, sink, _ = await run(stub, [job], policy_update=lambda: 5)
    start = sink.trajectories[0].start
    assert (start.group_id, start.labels, start.split, start.policy_update) == (
        "g",
        {"run": "r"},
        Split.TEST,
        5,
    )


async def test_the_split_follows_from_task_and_seed(stub: SimpleNamespace) -> None:
    _, sink, _ = await run(stub, jobs(stub, 4))
    for trajectory in sink.trajectories:
        task = trajectory.start.task
        assert trajectory.start.split is worker.split_of(task.id, task.seed)


@pytest.mark.parametrize(
    ("troubles", "failure"),
    [
        ({"act": {0: SandboxDied("gone")}}, Failure.SANDBOX_DIED),
        ({"reset": SandboxDied("gone")}, Failure.SANDBOX_DIED),
        ({"reset": "hang"}, Failure.SANDBOX_TIMEOUT),
        ({"act": {0: "hang"}}, Failure.SANDBOX_TIMEOUT),
    ],
)
async def test_broken_episodes_are_tried_again_on_a_fresh_sandbox(
    stub: SimpleNamespace, troubles: dict[str, Any], failure: Failure
) -> None:
    source = flaky(stub, 2, **troubles)
    stats, sink, _ = await run(stub, jobs(stub, 6), concurrency=2, source=source)
    assert (stats.episodes, stats.successes, stats.given_up) == (6, 6, 0)
    assert stats.failures == {failure: 2}
    assert len(source.made) == 4
    ends = [trajectory.end.failure for trajectory in sink.trajectories if trajectory.end]
    assert sorted(str(each) for each in ends) == sorted([str(failure)] * 2 + ["None"] * 6)


async def test_a_job_that_breaks_every_time_is_given_up_and_said_so(stub: SimpleNamespace) -> None:
    last: list[Any] = []
    stats, sink, _ = await run(
        stub, jobs(stub, 1), source=flaky(stub, 99, reset=SandboxDied("gone")), on_done=last.append
    )
    assert (stats.episodes, stats.given_up, stats.failures) == (0, 1, {Failure.SANDBOX_DIED: 3})
    assert len(sink.trajectories) == 3
    assert [trajectory.end.failure for trajectory in last] == [Failure.SANDBOX_DIED]


async def test_what_turns_cost_is_added_up_those_of_broken_attempts_too(stub: SimpleNamespace) -> None:
    dear = Decision(
        actions=(Click(x=10, y=10),), text="", repairs=("fence",), cost={"usd": 0.5, "rate_limited": 1.0}
    )
    lost = Decision(actions=(), text="", error="?", fault=Fault.UNKNOWN_ACTION, cost={"usd": 0.25})
    source = flaky(stub, 1, act={0: SandboxDied("gone")})
    stats, _, _ = await run(
        stub,
        [Job(task=stub.task(1))],
        source=source,
        concurrency=1,
        policy=stub.Policy(lost, dear),
    )
    assert stats.failures == {Failure.SANDBOX_DIED: 1}
    # the turn that was under way when the sandbox died is no step
    assert stats.account.cost == {"usd": 1.0, "rate_limited": 1.0}
    assert (stats.account.faults, stats.account.repairs) == ({Fault.UNKNOWN_ACTION: 2}, {"fence": 1})


async def test_a_hung_episode_ends_only_itself(stub: SimpleNamespace) -> None:
    settings = WorkerSettings(retries=0, deadlines=SHORT)
    source = flaky(stub, 1, act={0: "hang"})
    stats, _, _ = await run(stub, jobs(stub, 40), concurrency=4, source=source, settings=settings)
    assert (stats.episodes, stats.given_up, stats.failures) == (39, 1, {Failure.SANDBOX_TIMEOUT: 1})


async def test_a_hung_model_ends_only_its_own_episode(stub: SimpleNamespace) -> None:
    class Hangs(stub.Policy):
        """Its ninth decision never comes."""

        async def act(self, context: Any) -> Decision:
            if len(self.contexts) == 8:
                self.contexts.append(context)
                await asyncio.Event().wait()
            return await super().act(context)

    settings = WorkerSettings(retries=0, deadlines=SHORT)
    wanted = [Job(task=stub.task(3)) for _ in range(40)]
    stats, sink, _ = await run(stub, wanted, concurrency=4, policy=Hangs(), settings=settings)
    assert (stats.episodes, stats.given_up, stats.failures) == (39, 1, {Failure.MODEL_TIMEOUT: 1})
    broken = [t for t in sink.trajectories if t.end is not None and t.end.failure is not None]
    assert len(broken) == 1 and len(sink.trajectories) == 40


async def test_a_job_is_taken_when_somebody_is_free_to_work_it(stub: SimpleNamespace) -> None:
    taken, done = 0, 0
    under_way: list[int] = []

    def made() -> Iterator[Job]:
        nonlocal taken
        for job in jobs(stub, 30):
            taken += 1
            under_way.append(taken - done)
            yield job

    def on_done(_: Any) -> None:
        nonlocal done
        done += 1

    stats, _, _ = await run(stub, made(), concurrency=3, on_done=on_done)
    assert (stats.episodes, max(under_way)) == (30, 3)


async def test_fewer_sandboxes_than_workers_still_do_all_jobs(stub: SimpleNamespace) -> None:
    settings = WorkerSettings(lease_wait_s=0.02, episodes_per_lease=1000, deadlines=SHORT)
    stats, _, source = await run(
        stub, jobs(stub, 60), concurrency=8, source=stub.Source(capacity=2), settings=settings
    )
    assert (stats.episodes, stats.given_up, source.most_out) == (60, 0, 2)
    assert stats.failures == {}


async def test_a_worker_that_got_no_sandbox_comes_back_when_there_is_one(stub: SimpleNamespace) -> None:
    """A stream lasts: who leaves it for others who had all sandboxes once is missed for good."""

    class OneAtFirst(stub.Source):
        asked = 0

        @asynccontextmanager
        async def lease(self, kind: str, **told: Any) -> AsyncGenerator[Any]:
            self.asked += 1
            if self.asked == 2:
                raise LeaseUnavailable("none free")
            async with super().lease(kind, **told) as sandbox:
                yield sandbox

    source = OneAtFirst()

    async def as_long_as_one_works_alone() -> AsyncIterator[Job]:
        while source.most_out < 2:
            yield Job(task=stub.task(1))
            await asyncio.sleep(0.001)

    async with asyncio.timeout(10):
        stats, _, _ = await run(stub, as_long_as_one_works_alone(), source=source, concurrency=2)
    assert stats.episodes > 1
    assert stats.failures == {}


async def test_a_kind_that_nobody_has_is_waited_for_no_longer_than_alone(stub: SimpleNamespace) -> None:
    """That others have sandboxes of another kind says nothing of this one."""

    class NoneOfB(stub.Source):
        @asynccontextmanager
        async def lease(self, kind: str, **told: Any) -> AsyncGenerator[Any]:
            if kind == "b":
                raise LeaseUnavailable("there are none")
            async with super().lease(kind, **told) as sandbox:
                yield sandbox

    seen: list[str] = []

    async def until_b_is_given_up() -> AsyncIterator[Job]:
        yield Job(task=stub.task(1, kind="b"))
        while "b" not in seen:
            yield Job(task=stub.task(1, kind="a"))
            await asyncio.sleep(0.001)

    async with asyncio.timeout(10):
        stats, _, _ = await run(
            stub,
            until_b_is_given_up(),
            source=NoneOfB(),
            concurrency=2,
            on_done=lambda trajectory: seen.append(trajectory.start.task.environment.kind),
        )
    assert (stats.given_up, stats.failures) == (1, {Failure.SANDBOX_LEASE: 3})


async def test_no_sandbox_at_all_is_recorded_as_such(stub: SimpleNamespace) -> None:
    settings = WorkerSettings(lease_wait_s=0.01, retries=1, backoff_s=0.001)
    stats, sink, _ = await run(
        stub, jobs(stub, 2), concurrency=1, source=stub.Source(capacity=0), settings=settings
    )
    assert (stats.episodes, stats.given_up, stats.failures) == (0, 2, {Failure.SANDBOX_LEASE: 4})
    ends = [trajectory.end for trajectory in sink.trajectories if trajectory.end]
    assert [(end.stop_reason, end.failure) for end in ends] == [
        (StopReason.INFRASTRUCTURE, Failure.SANDBOX_LEASE)
    ] * 2


async def test_a_sandbox_that_is_being_made_is_waited_for(stub: SimpleNamespace) -> None:
    """A cold machine boots for minutes, and its source gives it that long."""

    class Boots(stub.Source):
        @asynccontextmanager
        async def lease(self, kind: str, **told: Any) -> AsyncGenerator[Any]:
            await asyncio.sleep(0.2)
            async with super().lease(kind, **told) as sandbox:
                yield sandbox

    settings = WorkerSettings(lease_wait_s=0.01, release_s=0.01, retries=0)
    stats, _, _ = await run(stub, jobs(stub, 2), concurrency=2, source=Boots(), settings=settings)
    assert (stats.episodes, stats.given_up, stats.failures) == (2, 0, {})


async def test_a_lease_refused_once_is_tried_again(stub: SimpleNamespace) -> None:
    source = stub.Source(refuse=[HostUnreachable("no host"), LeaseUnavailable("none free")])
    stats, _, _ = await run(stub, jobs(stub, 3), concurrency=1, source=source)
    assert (stats.episodes, stats.failures) == (3, {Failure.SANDBOX_LEASE: 2})


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (HostUnreachable("no host"), 99),
        (BackendMissing("apt-get install chromium"), 1),
        (UnknownName("kind", "x", []), 1),
    ],
)
async def test_what_no_further_attempt_mends_is_raised(
    stub: SimpleNamespace, error: Exception, times: int
) -> None:
    with pytest.raises(type(error)):
        await run(stub, jobs(stub, 3), concurrency=1, source=stub.Source(refuse=[error] * times))


@pytest.mark.parametrize("error", [InvalidTask("no such check"), UnknownName("verifier", "x", [])])
async def test_a_verifier_that_cannot_be_made_ends_its_job_alone(
    stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def create(spec: VerifierSpec) -> Any:
        if spec.name == "bad":
            raise error
        return stub.Rewards()

    monkeypatch.setattr(worker, "create_verifier", create)
    bad = Job(task=replace(stub.task(1), verifier=VerifierSpec(name="bad")))
    told: list[Any] = []
    stats, sink, _ = await run(stub, [*jobs(stub, 2), bad, *jobs(stub, 2)], on_done=told.append)
    assert (stats.episodes, stats.given_up, len(told)) == (4, 1, 5)
    assert stats.failures == {Failure.TASK_REFUSED: 1}
    ends = [each.end for each in sink.trajectories if each.start.task.verifier.name == "bad"]
    assert [end and end.failure_detail for end in ends] == [f"{type(error).__name__}: {error}"]


async def test_a_task_that_can_never_be_set_up_is_not_tried_again(stub: SimpleNamespace) -> None:
    told: list[Any] = []
    source = flaky(stub, 99, reset=InvalidTask("no such page"))
    stats, sink, _ = await run(stub, jobs(stub, 1), source=source, on_done=told.append)
    assert (stats.given_up, stats.failures, len(source.made)) == (1, {Failure.TASK_REFUSED: 1}, 1)
    assert len(told) == len(sink.trajectories) == 1


@pytest.mark.parametrize("give_back", [HostUnreachable("gone"), "hang"])
async def test_trouble_in_giving_back_loses_no_episode(stub: SimpleNamespace, give_back: Any) -> None:
    source = stub.Source()
    source.give_back = give_back
    stats, _, _ = await run(
        stub, jobs(stub, 3), concurrency=1, source=source, settings=WorkerSettings(release_s=0.05)
    )
    assert (stats.episodes, stats.failures) == (3, {Failure.SANDBOX_LEASE: 1})


async def test_cancelling_records_what_was_under_way_and_gives_back(stub: SimpleNamespace) -> None:
    sink, source = MemorySink(), stub.Source(lambda number: stub.Sandbox(act={1: "hang"}))
    three_clicks = [Job(task=stub.task(3)) for _ in range(9)]
    running = asyncio.create_task(
        run(stub, three_clicks, source=source, sink=sink, settings=None, concurrency=3)
    )
    while sum(len(trajectory.steps) for trajectory in sink.trajectories) < 3:
        await asyncio.sleep(0)
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    reasons = [trajectory.end.stop_reason for trajectory in sink.trajectories if trajectory.end]
    assert reasons == [StopReason.CANCELLED] * 3
    assert source.out == 0


async def test_a_failing_sink_stops_everything(stub: SimpleNamespace) -> None:
    class Full(MemorySink):
        async def step(self, trajectory_id: str, step: Step) -> None:
            raise OSError("disk full")

    source = stub.Source()
    with pytest.raises(OSError, match="disk full"):
        await run(stub, jobs(stub, 9), source=source, sink=Full(), concurrency=3)
    assert source.out == 0


async def test_jobs_may_come_as_they_are_made(stub: SimpleNamespace) -> None:
    queue: asyncio.Queue[Job | None] = asyncio.Queue()
    done: list[int] = []

    async def incoming() -> AsyncIterator[Job]:
        while (job := await queue.get()) is not None:
            yield job

    def on_done(trajectory: Any) -> None:
        done.append(trajectory.start.task.seed)
        queue.put_nowait(Job(task=stub.task(len(done) + 1)) if len(done) < 5 else None)

    queue.put_nowait(Job(task=stub.task(1)))
    stats, _, _ = await run(stub, incoming(), concurrency=3, on_done=on_done)
    assert (stats.episodes, done) == (5, [1, 2, 3, 4, 5])


async def test_no_workers_are_refused(stub: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="concurrency is 0"):
        await run(stub, [], concurrency=0)


async def test_a_sandbox_is_given_back_while_no_job_comes(stub: SimpleNamespace) -> None:
    """Whoever else wants one gets it meanwhile; the worker goes on with another when there is a job."""
    more = asyncio.Event()
    free: list[int] = []
    source = stub.Source()

    async def slowly() -> AsyncIterator[Job]:
        for job in jobs(stub, 2):
            yield job
        while source.out:
            await asyncio.sleep(0.001)
        free.append(len(source.made))
        more.set()
        for job in jobs(stub, 2):
            yield job

    settings = WorkerSettings(idle_lease_s=0.02)
    async with asyncio.timeout(10):
        stats, _, _ = await run(stub, slowly(), source=source, settings=settings, concurrency=2)
    assert more.is_set() and free
    assert stats.episodes == 4
    assert source.out == 0


async def test_a_broken_sandbox_is_given_back_before_the_next_job_is_waited_for(
    stub: SimpleNamespace,
) -> None:
    source = flaky(stub, 1, act={0: SandboxDied("gone")})

    async def the_next_once_it_is_back() -> AsyncIterator[Job]:
        yield Job(task=stub.task(1))
        while source.out:
            await asyncio.sleep(0.001)
        yield Job(task=stub.task(1))

    async with asyncio.timeout(10):
        stats, _, _ = await run(
            stub,
            the_next_once_it_is_back(),
            source=source,
            settings=WorkerSettings(retries=0),
            concurrency=1,
        )
    assert (stats.episodes, stats.given_up) == (1, 1)
