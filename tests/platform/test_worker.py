from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.errors import InferenceError
from deskhand_agent.memory import WindowMemory
from deskhand_agent.notebook import Notebook
from deskhand_agent.test_time.checking import NOT_DONE, Check, SelfCheck
from deskhand_agent.test_time.deliberating import Deliberate
from deskhand_agent.types import Context, Decision, Policy, Step
from deskhand_flywheel.errors import StorageFull, StoreError, StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.quotas import Quotas
from deskhand_platform.accounts.users import Users
from deskhand_platform.policies import PolicyMaker
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import QuotaSettings, WorkerSettings
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks
from deskhand_platform.task_orders import BranchRef, PolicyRef, QueuedTask, TaskOrder
from deskhand_platform.worker import EpisodeWorker
from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import HostUnreachable, LeaseUnavailable, SandboxDied, UnknownName
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Finish, JsonValue, Limits, Observation, Split, VerifierSpec, Wait

LIMITS = WorkerSettings(slots=2, attempts=3, claim_s=60.0, poll_s=0.02)
SCRIPTED = PolicyRef(name="scripted", settings={})
ENDLESS = replace(make_task("fake/never-done", 0), limits=Limits(turns=10_000, seconds=600.0))


class GivesUp:
    """Says at once that it is done."""

    id = "gives-up"

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Finish(text="done"),), text="finished()")


class Dawdles:
    """Waits, and says when it has begun to."""

    id = "dawdles"

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def act(self, context: Context) -> Decision:
        self.began.set()
        await asyncio.sleep(0.05)
        return Decision(actions=(Wait(seconds=0.05),), text="wait()")


class Broken:
    """A source whose sandboxes die at once."""

    def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Sandbox]:
        return self._lease()

    @asynccontextmanager
    async def _lease(self) -> AsyncGenerator[Sandbox]:
        raise SandboxDied("the browser is gone")
        yield


Make = Callable[[PolicyRef], Awaitable[Deliberate]]


def always(policy: Policy) -> Make:
    async def make(_ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=policy)

    return make


@pytest.fixture
async def sandboxes(tmp_path: Path) -> AsyncIterator[SandboxSource]:
    async with SandboxManager({"fake": PoolSettings(max_sandboxes=2)}, state_folder=tmp_path) as manager:
        yield manager


@asynccontextmanager
async def working(
    store: Store,
    policies: Make,
    source: SandboxSource | None,
    quotas: Quotas | None = None,
    kind: type[TaskQueue] = TaskQueue,
    limits: WorkerSettings = LIMITS,
) -> AsyncGenerator[TaskQueue]:
    queue, stop = kind(store.database, quotas), asyncio.Event()
    worker = EpisodeWorker(queue=queue, sink=store, policies=policies, sources=lambda: source, limits=limits)
    task = asyncio.create_task(worker.work(stop))
    try:
        yield queue
    finally:
        stop.set()
        await task


async def over(queue: TaskQueue, submitted: QueuedTask) -> QueuedTask:
    async with asyncio.timeout(100):
        while not (found := await queue.get(submitted.id)).state.over:
            await asyncio.sleep(0.02)
    return found


async def test_a_task_is_tried_again_where_its_policy_thinks_that_it_failed(
    store: Store, sandboxes: SandboxSource
) -> None:
    class Doubts:
        async def check(self, before: Context, step: Step, after: Observation) -> Check:
            return Check(done=False)

    async def make(_ref: PolicyRef) -> Deliberate:
        self_check = SelfCheck(checker=Doubts(), doubts=1)
        return Deliberate(policy=GivesUp(), self_check=self_check, attempts=2, turns=7)

    async with working(store, make, sandboxes) as queue:
        done = await over(
            queue, await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
        )
    kept = await store.trajectory(str(done.trajectory_id))
    assert [step.answer for step in kept.steps] == [NOT_DONE, TRY_AGAIN, None]
    assert kept.start.task.limits.turns == 7


async def test_a_branch_is_doubted_as_its_policy_s_settings_say(
    store: Store, sandboxes: SandboxSource, record_episode: Any
) -> None:
    class Doubts:
        async def check(self, before: Context, step: Step, after: Observation) -> Check:
            return Check(done=False)

    async def make(_ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=GivesUp(), self_check=SelfCheck(checker=Doubts(), doubts=1))

    task = make_task("fake/press-in-order", 1)
    branch = BranchRef(trajectory_id=await record_episode(store, task=task), step=1)
    async with working(store, make, sandboxes) as queue:
        order = TaskOrder(task=task, policy=SCRIPTED, branch=branch)
        done = await over(queue, await queue.submit(order))
    assert done.state is WorkState.DONE, done.reason
    kept = await store.trajectory(str(done.trajectory_id))
    assert [step.answer for step in kept.steps] == [None, NOT_DONE, None]


async def test_branches_that_break_after_the_first_are_told_of(
    store: Store, sandboxes: SandboxSource, record_episode: Any
) -> None:
    class LeavesAtTheThird(GivesUp):
        asked = 0

        async def act(self, context: Context) -> Decision:
            self.asked += 1
            if self.asked > 2:
                raise InferenceError("the model is gone")
            return await super().act(context)

    task = make_task("fake/press-in-order", 1)
    branch = BranchRef(trajectory_id=await record_episode(store, task=task), step=1, episodes=8)
    async with working(store, always(LeavesAtTheThird()), sandboxes) as queue:
        order = TaskOrder(task=task, policy=SCRIPTED, branch=branch)
        done = await over(queue, await queue.submit(order))
    assert (done.state, done.attempts) == (WorkState.DONE, 1)
    assert done.reason == (
        "2 of 8 branches; the next one broke: model_error: InferenceError: the model is gone"
    )
    first = await store.trajectory(str(done.trajectory_id))
    assert done.outcome is not None and first.end is not None and first.end.outcome == done.outcome


async def test_what_is_written_is_told_to_later_tasks_of_its_owner(
    store: Store, sandboxes: SandboxSource, tmp_path: Path
) -> None:
    class Writes:
        id = "writes"

        async def act(self, context: Context) -> Decision:
            return Decision(actions=(Finish(text="done"),), text="t", thought="it is left of the menu")

    async def make(_ref: PolicyRef) -> Deliberate:
        notebook = Notebook(tmp_path / "notes", WindowMemory(strategy="constant"))
        return Deliberate(policy=Writes(), notebook=notebook)

    told: list[tuple[str, str]] = []
    [seed] = seeds("fake/press-button", Split.TRAIN, 1)
    async with working(store, make, sandboxes) as queue:
        for owner in ("ann", "ann", "bob"):
            order = TaskOrder(task=make_task("fake/press-button", seed), policy=SCRIPTED, owner=owner)
            done = await over(queue, await queue.submit(order))
            told.append((owner, (await store.trajectory(str(done.trajectory_id))).start.notes))
    assert [owner for owner, notes in told if not notes] == ["ann", "bob"]
    assert told[1][1].endswith("(not done): it is left of the menu")


async def test_tasks_become_trajectories(store: Store, sandboxes: SandboxSource) -> None:
    async with working(store, always(GivesUp()), sandboxes) as queue:
        task = make_task("fake/press-button", 3)
        submitted = [
            await queue.submit(TaskOrder(task=task, policy=SCRIPTED, labels={"n": str(n)})) for n in range(3)
        ]
        done = [await over(queue, one) for one in submitted]
    for one in done:
        assert (one.state, one.attempts, one.reason) == (WorkState.DONE, 1, None)
        assert one.outcome is not None and not one.outcome.success
        trajectory = await store.trajectory(str(one.trajectory_id))
        assert trajectory.end is not None and trajectory.start.task == task
        assert trajectory.start.labels == {"task": one.id, "owner": "owner", **one.labels}
    quotas = Quotas(store.database, QuotaSettings())
    recorded = (await quotas.usage("owner")).bytes
    pictures = await store.blobs.get(trajectory.end.final_observation.screenshot.digest)  # type: ignore[union-attr]
    assert recorded >= 3 * len(pictures)


async def test_an_owner_takes_no_more_sandboxes_than_they_may(store: Store, sandboxes: SandboxSource) -> None:
    quotas = Quotas(store.database, QuotaSettings(sandboxes=1))
    await Users(store.database).add("ada", Role.SUBMITTER)
    most = 0
    async with working(store, always(GivesUp()), sandboxes, quotas) as queue:
        task = make_task("fake/press-button", 3)
        orders = [TaskOrder(task=task, policy=SCRIPTED, owner="ada") for _ in range(4)]
        ids = await queue.submit_all(orders)
        while not all([(await queue.get(one)).state.over for one in ids]):
            most = max(most, (await quotas.usage("ada")).sandboxes)
            await asyncio.sleep(0.01)
    assert most <= 1


async def test_a_running_task_can_be_cancelled(store: Store, sandboxes: SandboxSource) -> None:
    policy = Dawdles()
    async with working(store, always(policy), sandboxes) as queue:
        submitted = await queue.submit(TaskOrder(task=ENDLESS, policy=SCRIPTED))
        await policy.began.wait()
        await queue.cancel(submitted.id)
        found = await over(queue, submitted)
    assert found.state is WorkState.CANCELLED and found.outcome is None
    trajectory = await store.trajectory(str(found.trajectory_id))
    assert trajectory.end is not None and trajectory.end.stop_reason == "cancelled"


async def test_a_deadline_ends_what_is_worked(
    store: Store, sandboxes: SandboxSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    dawdles, ahead_s = Dawdles(), 0.0
    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + ahead_s)
    monkeypatch.setattr("deskhand_platform.worker.time", clock)
    async with working(store, always(dawdles), sandboxes) as queue:
        late = TaskOrder(task=ENDLESS, policy=SCRIPTED, deadline_s=time.time() + 600)
        [id] = await queue.submit_all([late])
        await dawdles.began.wait()
        ahead_s = 600.0
        found = await over(queue, await queue.get(id))
    assert (found.state, found.reason) == (WorkState.FAILED, "its deadline passed while it was worked")


async def test_a_stopped_worker_gives_its_task_back(store: Store, sandboxes: SandboxSource) -> None:
    policy = Dawdles()
    async with working(store, always(policy), sandboxes) as queue:
        submitted = await queue.submit(TaskOrder(task=ENDLESS, policy=SCRIPTED))
        await policy.began.wait()
    assert (await queue.get(submitted.id)).state is WorkState.QUEUED
    async with working(store, always(GivesUp()), sandboxes) as queue:
        assert (await over(queue, submitted)).state is WorkState.DONE


async def test_broken_infrastructure_is_tried_again_and_then_named(store: Store) -> None:
    async with working(store, always(GivesUp()), Broken()) as queue:
        found = await over(
            queue, await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
        )
    assert (found.state, found.attempts) == (WorkState.FAILED, 3)
    assert "browser is gone" in str(found.reason) and "3 attempts" in str(found.reason)


class Asked(TaskQueue):
    """Counts how often it was asked for nothing but what is over."""

    times = 0

    async def expire(self, attempts: int | None = None) -> None:
        await super().expire(attempts)
        self.times += 1


async def test_nothing_is_claimed_while_there_is_no_host(store: Store, sandboxes: SandboxSource) -> None:
    queue, stop, host = Asked(store.database), asyncio.Event(), list[SandboxSource]()
    worker = EpisodeWorker(
        queue=queue,
        sink=store,
        policies=always(GivesUp()),
        sources=lambda: host[0] if host else None,
        limits=LIMITS,
    )
    task = make_task("fake/press-button", 0)
    waits = await queue.submit(TaskOrder(task=task, policy=SCRIPTED))
    late = await queue.submit(TaskOrder(task=task, policy=SCRIPTED, deadline_s=time.time() - 1))
    work = asyncio.create_task(worker.work(stop))
    assert (await over(queue, late)).state is WorkState.FAILED
    while queue.times < 10:
        await asyncio.sleep(0.01)
    found = await queue.get(waits.id)
    assert (found.state, found.attempts) == (WorkState.QUEUED, 0)
    host.append(sandboxes)
    assert (await over(queue, waits)).attempts == 1
    stop.set()
    await work


class Short:
    """A source that has no sandbox for the first so many who ask."""

    def __init__(self, inside: SandboxSource, *errors: Exception) -> None:
        self._inside, self._errors = inside, [*errors]

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Sandbox]:
        if self._errors:
            raise self._errors.pop()
        async with self._inside.lease(kind, owner=owner, wait_s=wait_s, labels=labels) as sandbox:
            yield sandbox


async def test_what_finds_no_sandbox_waits_and_loses_no_attempt(
    store: Store, sandboxes: SandboxSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deskhand_platform.worker.SHORT_S", 0.0)
    away, taken = HostUnreachable("no host answers"), LeaseUnavailable("all are on loan")
    async with working(store, always(GivesUp()), Short(sandboxes, away, taken, away, taken)) as queue:
        found = await over(
            queue, await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
        )
    assert (found.state, found.attempts, found.reason) == (WorkState.DONE, 1, None)
    assert len((await store.trajectories()).items) == 1  # what did not begin is no episode


class Locked(TaskQueue):
    """Whose database cannot be written to for the first so many renewals."""

    failures = 0
    trouble: type[StoreError] = StoreUnavailable

    async def renew(self, claimed: QueuedTask, worker: str, hold_s: float) -> bool:
        self.failures -= 1
        if self.failures >= 0:
            raise self.trouble("the database stayed locked")
        return await super().renew(claimed, worker, hold_s)


async def attempted(
    store: Store,
    policy: Policy,
    source: SandboxSource,
    failures: int,
    trouble: type[StoreError] = StoreUnavailable,
) -> QueuedTask:
    """A task after one attempt."""
    queue, limits = Locked(store.database), LIMITS.model_copy(update={"claim_s": 0.2})
    queue.failures, queue.trouble = failures, trouble
    worker = EpisodeWorker(
        queue=queue, sink=store, policies=always(policy), sources=lambda: source, limits=limits
    )
    task = ENDLESS if isinstance(policy, Dawdles) else make_task("fake/press-button", 0)
    submitted = await queue.submit(TaskOrder(task=task, policy=SCRIPTED))
    claimed = await queue.claim(worker.name, 60.0)
    assert claimed is not None
    await worker.attempt(claimed)
    return await queue.get(submitted.id)


@pytest.mark.parametrize("trouble", [StoreUnavailable, StorageFull])
async def test_a_database_that_is_busy_or_full_for_a_moment_ends_no_episode(
    store: Store, sandboxes: SandboxSource, trouble: type[StoreError]
) -> None:
    found = await attempted(store, GivesUp(), sandboxes, failures=1, trouble=trouble)
    assert (found.state, found.attempts) == (WorkState.DONE, 1)


async def test_a_claim_that_cannot_be_renewed_is_given_back_and_not_called_cancelled(
    store: Store, sandboxes: SandboxSource
) -> None:
    found = await attempted(store, Dawdles(), sandboxes, failures=10**6)
    assert (found.state, found.cancel_requested) == (WorkState.QUEUED, False)
    assert found.reason == "its claim was lost: the database stayed locked"


async def test_a_task_that_ends_every_worker_is_given_up(store: Store, sandboxes: SandboxSource) -> None:
    queue = TaskQueue(store.database)
    submitted = await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
    for _ in range(LIMITS.attempts):
        await queue.claim("dies", -1.0)
    async with working(store, always(GivesUp()), sandboxes) as queue:
        found = await over(queue, submitted)
    assert (found.state, found.attempts) == (WorkState.FAILED, LIMITS.attempts)


class Away(TaskQueue):
    """Whose database does not answer the first who claims or settles, nor anybody who gives a task back."""

    answers = frozenset[str]()
    trouble: type[StoreError] = StoreUnavailable

    def _refuse(self, what: str) -> None:
        if what not in self.answers:
            self.answers |= {what}
            raise self.trouble("the database does not answer")

    async def claim(self, worker: str, hold_s: float, attempts: int | None = None) -> QueuedTask | None:
        self._refuse("claim")
        return await super().claim(worker, hold_s, attempts)

    async def settle(self, claimed: QueuedTask, worker: str, state: WorkState, **told: Any) -> bool:
        if "settle" not in self.answers:
            await super().put_back(claimed, worker, "its claim ran out")
        self._refuse("settle")
        return await super().settle(claimed, worker, state, **told)

    async def put_back(self, claimed: QueuedTask, worker: str, reason: str) -> None:
        raise self.trouble("the database does not answer")


class Full(Away):
    """Whose disk is full instead."""

    trouble = StorageFull


@pytest.mark.parametrize("kind", [Away, Full])
async def test_a_database_that_is_away_for_a_moment_ends_no_worker(
    store: Store, sandboxes: SandboxSource, kind: type[Away]
) -> None:
    async with working(store, always(GivesUp()), sandboxes, kind=kind) as queue:
        found = await over(
            queue, await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
        )
    assert (found.state, found.attempts) == (WorkState.DONE, 2)


@pytest.mark.parametrize("kind", [Away, Full])
async def test_a_worker_ends_when_told_to_though_its_database_is_away(
    store: Store, sandboxes: SandboxSource, kind: type[Away]
) -> None:
    dawdles = Dawdles()
    async with asyncio.timeout(60), working(store, always(dawdles), sandboxes, kind=kind) as queue:
        submitted = await queue.submit(TaskOrder(task=ENDLESS, policy=SCRIPTED))
        await dawdles.began.wait()
    assert (await queue.get(submitted.id)).state is WorkState.RUNNING


async def test_a_policy_that_cannot_be_had_is_not_tried_again(store: Store, sandboxes: SandboxSource) -> None:
    async def none(ref: PolicyRef) -> Deliberate:
        raise UnknownName("policy", ref.name, ["local"])

    async with working(store, none, sandboxes) as queue:
        found = await over(
            queue, await queue.submit(TaskOrder(task=make_task("fake/press-button", 0), policy=SCRIPTED))
        )
    assert (found.state, found.attempts) == (WorkState.FAILED, 1) and "scripted" in str(found.reason)


async def test_the_settings_say_how_long_a_decision_may_take(store: Store, sandboxes: SandboxSource) -> None:
    class Hangs(GivesUp):
        async def act(self, context: Context) -> Decision:
            await asyncio.Event().wait()
            return await super().act(context)

    limits = LIMITS.model_copy(update={"decision_s": 0.05, "attempts": 1})
    async with working(store, always(Hangs()), sandboxes, limits=limits) as queue:
        task = make_task("fake/press-button", 0)
        found = await over(queue, await queue.submit(TaskOrder(task=task, policy=SCRIPTED)))
    assert "no decision within 0.05 s" in str(found.reason)


async def test_a_verifier_that_cannot_be_made_is_not_tried_again(
    store: Store, sandboxes: SandboxSource
) -> None:
    verifier = VerifierSpec(name="fake", settings={"colour": "red"})
    task = replace(make_task("fake/press-button", 0), verifier=verifier)
    async with working(store, always(GivesUp()), sandboxes) as queue:
        found = await over(queue, await queue.submit(TaskOrder(task=task, policy=SCRIPTED)))
    assert (found.state, found.attempts) == (WorkState.FAILED, 1) and "colour" in str(found.reason)


async def test_a_task_that_can_never_be_set_up_is_not_tried_again(
    store: Store, sandboxes: SandboxSource
) -> None:
    task = make_task("fake/press-button", 0)
    odd = replace(task, environment=replace(task.environment, settings={"buttons": "none"}))
    async with working(store, always(GivesUp()), sandboxes) as queue:
        found = await over(queue, await queue.submit(TaskOrder(task=odd, policy=SCRIPTED)))
    assert (found.state, found.attempts) == (WorkState.FAILED, 1)
    assert "task_refused" in str(found.reason) and "buttons" in str(found.reason)


async def test_settings_that_make_no_sense_end_only_their_task(
    store: Store, sandboxes: SandboxSource, tmp_path: Path
) -> None:
    make = PolicyMaker(store, tmp_path / "policies").deliberate

    async def made(ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=GivesUp()) if ref == SCRIPTED else await make(ref)

    task = make_task("fake/press-button", 0)
    address: dict[str, JsonValue] = {"base_url": "http://127.0.0.1:9", "model": "m"}
    wrong: tuple[tuple[str, dict[str, JsonValue], str], ...] = (
        ("local", {"temperature": -1.0}, "give 0 or more"),
        ("local", {"max_tokens": "many"}, "many"),
        ("openai", {**address, "memory": {"strategy": "none"}}, "strategy"),
        ("openai", {**address, "colour": "red"}, "colour"),
    )
    async with working(store, made, sandboxes) as queue:
        refused = [
            await queue.submit(TaskOrder(task=task, policy=PolicyRef(name=name, settings=settings)))
            for name, settings, _ in wrong
        ]
        others = [await queue.submit(TaskOrder(task=task, policy=SCRIPTED)) for _ in range(2)]
        for submitted, (name, _, said) in zip(refused, wrong, strict=True):
            found = await over(queue, submitted)
            assert (found.state, found.attempts) == (WorkState.FAILED, 1)
            assert f"policy.settings: refused by policy {name!r}" in str(found.reason)
            assert said in str(found.reason)
        assert [(await over(queue, each)).state for each in others] == [WorkState.DONE] * 2


async def test_a_bug_in_a_policy_ends_only_its_task(store: Store, sandboxes: SandboxSource) -> None:
    class Buggy:
        id = "buggy"

        async def act(self, context: Context) -> Decision:
            raise KeyError("nothing of that name")

    async def made(ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=GivesUp() if ref == SCRIPTED else Buggy())

    task = make_task("fake/press-button", 0)
    async with working(store, made, sandboxes) as queue:
        broken = await queue.submit(TaskOrder(task=task, policy=PolicyRef(name="buggy", settings={})))
        other = await queue.submit(TaskOrder(task=task, policy=SCRIPTED))
        found = await over(queue, broken)
        assert (found.state, found.attempts) == (WorkState.FAILED, 1)
        assert "KeyError" in str(found.reason)
        assert (await over(queue, other)).state is WorkState.DONE


class Odd(TaskQueue):
    """Whose first settling ends in what nobody foresaw, and whose claim runs out then."""

    settled = 0

    async def settle(self, claimed: QueuedTask, worker: str, state: WorkState, **told: Any) -> bool:
        self.settled += 1
        if self.settled == 1:
            async with self._database.write() as connection:
                await connection.execute(
                    tasks.update().where(tasks.c.id == claimed.id).values(claimed_until_s=0.0)
                )
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return await super().settle(claimed, worker, state, **told)


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_at_a_task_s_end_ends_no_worker(
    store: Store, sandboxes: SandboxSource, caplog: pytest.LogCaptureFixture
) -> None:
    async with working(store, always(GivesUp()), sandboxes, kind=Odd) as queue:
        orders = [TaskOrder(task=make_task("fake/press-button", seed), policy=SCRIPTED) for seed in range(2)]
        for submitted in [await queue.submit(order) for order in orders]:
            assert (await over(queue, submitted)).state is WorkState.DONE
    assert "surrogates not allowed" in caplog.text


def test_the_worker_loads_no_torch() -> None:
    code = "import sys, deskhand_platform.worker; print('torch' in sys.modules, 'dbos' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False"]
