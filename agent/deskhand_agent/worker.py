"""Many episodes at once, each in a sandbox on loan.

A worker keeps its loan for consecutive episodes. What breaks outside the agent is counted by kind and tried
again on a fresh loan; an episode that hangs passes its own deadlines and ends only itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

from deskhand_agent.accounts import Account
from deskhand_agent.branching import BRANCH_OF, Branch, Branching, Crossroads
from deskhand_agent.ending import VOID_LIMIT, failed_end
from deskhand_agent.episode import run_episode
from deskhand_agent.ids import new_id
from deskhand_agent.jobs import Job as Job
from deskhand_agent.jobs import JobQueue
from deskhand_agent.notebook import Notebook
from deskhand_agent.test_time.checking import SelfCheck
from deskhand_agent.time_limits import within
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import (
    Failure,
    Policy,
    StepSink,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
    Watcher,
)
from deskhand_agent.users import User, by_rule
from deskhand_sandbox import logs
from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import (
    BackendMissing,
    HostUnreachable,
    InfrastructureError,
    InvalidTask,
    LeaseUnavailable,
    UnknownName,
)
from deskhand_sandbox.manager.records import MOST_CREATE_S
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import Split

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSettings:
    """How episodes are run."""

    concurrency: int = 8
    """Episodes at once, and sandboxes asked for at most."""
    retries: int = 2
    """Further attempts at a job whose episode broke, but for one whose task is refused."""
    episodes_per_lease: int = 64
    """A sandbox is given back after so many, which bounds what a leak can grow to."""
    idle_lease_s: float = 1.0
    """A sandbox is given back when no further job comes for so long."""
    lease_wait_s: float = 60.0
    """How long to wait for a free sandbox; the source says how long one may take to be made."""
    release_s: float = 30.0
    """How long giving one back may take."""
    backoff_s: float = 0.2
    """Pause before the first further attempt; twice as long before each next one, 5 s at most."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    void_limit: int = VOID_LIMIT
    """Replies in a row without an action that end an episode."""
    attempts: int = 1
    """At a task within an episode, each from its start state, as long as none succeeds."""
    self_check: SelfCheck | None = None
    """Says whether an attempt seems to have succeeded; None: the verifier does."""
    branching: Branching | None = None
    """How episodes are branched; each branch is one more, told of like the others. None: not at all."""
    user: User = by_rule
    """Answers questions."""
    watcher: Callable[[], Watcher] | None = None
    """Makes what watches over an episode, one for each; None: nothing does."""
    notebook: Notebook | None = None
    """Notes from episode to episode, on training seeds alone; None: none are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerStats:
    """What came of the jobs."""

    episodes: int
    """Jobs that ended with a verdict."""
    successes: int
    steps: int
    """Turns of those episodes."""
    failures: Mapping[Failure, int]
    """Attempts that broke, by kind."""
    given_up: int
    """Jobs whose last attempt broke: they have no verdict."""
    seconds: float
    """Wall clock."""
    model_s: float
    """Waiting for decisions, added up over episodes at once."""
    act_s: float
    """Carrying actions out, added up likewise."""
    account: Account = field(default_factory=Account)
    """Of all turns, those of broken attempts too."""


async def run_episodes(
    jobs: Iterable[Job] | AsyncIterable[Job],
    *,
    source: SandboxSource,
    policy: Policy,
    sink: StepSink,
    settings: WorkerSettings | None = None,
    concurrency: int | None = None,
    policy_update: Callable[[], int] = lambda: 0,
    owner: str = "worker",
    on_done: Callable[[Trajectory], None] | None = None,
) -> WorkerStats:
    """Run every job and say what came of them.

    An asynchronous iterable of jobs is asked for the next one as a worker becomes free.

    Args:
        concurrency: overrides the settings' figure.
        policy_update: online updates the policy's weights have seen, asked as each episode begins.
        owner: named on the loans.
        on_done: told of each job's last attempt as it ends, in order of ending.

    Raises:
        UnknownName: a task names a sandbox kind that does not exist.
        BackendMissing: a program the sandboxes need is not installed; the message says what mends it.
        HostUnreachable: no sandbox host answered, further attempts included.
        Exception: the sink failed, or there is a bug; episodes under way are cancelled, and recorded so.
    """
    settings = settings or WorkerSettings()
    workers = settings.concurrency if concurrency is None else concurrency
    if workers < 1:
        raise ValueError(f"concurrency is {workers}: give 1 or more")
    run = _Run(JobQueue(jobs), source, policy, sink, settings, policy_update, on_done)
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(run.work(f"{owner}-{number}"))
    except BaseExceptionGroup as errors:
        # the first is the cause; the others are what its cancellation stirred up
        raise errors.exceptions[0] from errors
    finally:
        run.close()
    return run.stats()


@dataclass(kw_only=True, slots=True)
class _Attempt:
    """A job in a worker's hands."""

    job: Job
    broken: int = 0
    """Attempts that failed so far."""


class _Run:
    """What the workers of one call share."""

    def __init__(
        self,
        jobs: JobQueue,
        source: SandboxSource,
        policy: Policy,
        sink: StepSink,
        settings: WorkerSettings,
        policy_update: Callable[[], int],
        on_done: Callable[[Trajectory], None] | None,
    ) -> None:
        self._jobs = jobs
        self._source = source
        self._policy = policy
        self._sink = sink
        self._settings = settings
        self._policy_update = policy_update
        self._on_done = on_done
        self._began_s = time.monotonic()
        self._leases: Counter[str] = Counter()
        """Sandboxes on loan, by kind."""
        self._episodes = self._successes = self._steps = self._given_up = 0
        self._model_ms = self._act_ms = 0.0
        self._failures: Counter[Failure] = Counter()
        self._account = Account()

    async def work(self, owner: str) -> None:
        """Take jobs until there are none."""
        attempt = await self._next()
        while attempt is not None:
            try:
                attempt = await self._on_one_lease(attempt, owner)
            except LeaseUnavailable as error:
                if self._leases[attempt.job.task.environment.kind]:
                    # the others have all there are of its kind: one is given back before long
                    await asyncio.sleep(self._settings.backoff_s)
                    continue
                attempt = await self._no_lease(attempt, error)
            except BackendMissing:
                raise
            except InfrastructureError as error:
                attempt = await self._no_lease(attempt, error)

    async def _on_one_lease(self, attempt: _Attempt, owner: str) -> _Attempt | None:
        """Run episodes on one loan for as long as it serves; returns what is to be done on another.

        Raises:
            InfrastructureError: no sandbox could be had; from nothing else.
        """
        kind = attempt.job.task.environment.kind
        async with self._lease(kind, owner) as sandbox:
            for _ in range(self._settings.episodes_per_lease):
                broken = await self._worked(attempt.job, sandbox)
                if broken is not None:
                    break
                try:
                    following = await self._next(within_s=self._settings.idle_lease_s)
                except TimeoutError:
                    break
                if following is None or following.job.task.environment.kind != kind:
                    return following
                attempt = following
            else:
                return attempt
        # the sandbox is given back by now: the next job may be long in coming
        return await self._next() if broken is None else await self._broken(attempt, *broken)

    async def _worked(self, job: Job, sandbox: Sandbox) -> tuple[Trajectory, Failure] | None:
        """Run an episode and its branches; returns what broke: the loan is not to be used again then."""
        rule = self._settings.branching
        crossroads = None if rule is None else Crossroads(rule)
        trajectory = await self._episode(job, sandbox, crossroads=crossroads)
        if trajectory.end is not None and trajectory.end.failure is not None:
            return trajectory, trajectory.end.failure
        self._count(trajectory)
        for branch in () if crossroads is None else crossroads.branches(trajectory):
            other = await self._episode(job, sandbox, branch=branch)
            if other.end is not None and other.end.failure is not None:
                return other, other.end.failure
            self._count(other)
        return None

    @asynccontextmanager
    async def _lease(self, kind: str, owner: str) -> AsyncGenerator[Sandbox, None]:
        lease = self._source.lease(kind, owner=owner, wait_s=self._settings.lease_wait_s)
        limit_s = self._settings.lease_wait_s + MOST_CREATE_S + self._settings.release_s
        late = LeaseUnavailable(f"no {kind} sandbox within {limit_s:g} s")
        sandbox = await within(limit_s, lease.__aenter__(), late)
        self._leases[kind] += 1
        try:
            yield sandbox
        finally:
            await self._give_back(lease)
            self._leases[kind] -= 1

    async def _give_back(self, lease: AbstractAsyncContextManager[Sandbox]) -> None:
        try:
            async with asyncio.timeout(self._settings.release_s):
                await lease.__aexit__(None, None, None)
        except (InfrastructureError, TimeoutError):
            # the episodes are recorded already, and a loan that is not given back runs out by itself
            self._failures[Failure.SANDBOX_LEASE] += 1

    async def _episode(
        self,
        job: Job,
        sandbox: Sandbox,
        *,
        crossroads: Crossroads | None = None,
        branch: Branch | None = None,
    ) -> Trajectory:
        try:
            verifier = create_verifier(job.task.verifier)
        except (InvalidTask, UnknownName) as error:
            end = replace(failed_end(error, after_setup=False), failure=Failure.TASK_REFUSED)
            return await self._not_begun(job, end)
        trajectory = await run_episode(
            job.task,
            sandbox=sandbox,
            policy=self._policy,
            verifier=verifier,
            sink=self._sink,
            split=_split(job),
            policy_update=self._policy_update(),
            group_id=job.group_id,
            labels=job.labels,
            deadlines=self._settings.deadlines,
            user=self._settings.user,
            void_limit=self._settings.void_limit,
            attempts=self._settings.attempts,
            self_check=self._settings.self_check,
            watcher=None if self._settings.watcher is None else self._settings.watcher(),
            crossroads=crossroads,
            branch=branch,
            notebook=self._settings.notebook,
        )
        self._account.add(trajectory.steps[0 if branch is None else branch.turn :])
        _write(trajectory, sandbox.id)
        return trajectory

    async def _broken(self, attempt: _Attempt, trajectory: Trajectory, failure: Failure) -> _Attempt | None:
        """Count a broken attempt; returns what to do next."""
        self._failures[failure] += 1
        if BRANCH_OF in trajectory.start.labels:  # the episode itself is done
            return await self._next()
        if attempt.broken >= self._settings.retries or failure is Failure.TASK_REFUSED:
            self._given_up += 1
            self._tell(trajectory)
            return await self._next()
        await asyncio.sleep(min(5.0, self._settings.backoff_s * 2**attempt.broken))
        return _Attempt(job=attempt.job, broken=attempt.broken + 1)

    async def _no_lease(self, attempt: _Attempt, error: InfrastructureError) -> _Attempt | None:
        """Count an attempt that got no sandbox; the last one is recorded like an episode."""
        end = replace(failed_end(error, after_setup=False), failure=Failure.SANDBOX_LEASE)
        last = attempt.broken >= self._settings.retries
        if last and isinstance(error, HostUnreachable):
            raise error
        trajectory = await self._not_begun(attempt.job, end, recorded=last)
        return await self._broken(attempt, trajectory, Failure.SANDBOX_LEASE)

    async def _not_begun(self, job: Job, end: TrajectoryEnd, *, recorded: bool = True) -> Trajectory:
        """The episode of an attempt that failed before any computer was asked for anything."""
        start = TrajectoryStart(
            id=new_id(),
            task=job.task,
            instruction=job.task.instruction,
            policy_id=self._policy.id,
            policy_update=self._policy_update(),
            group_id=job.group_id,
            split=_split(job),
            started_at_s=time.time(),
            labels=job.labels,
        )
        if recorded:
            await self._sink.begin(start)
            await self._sink.end(start.id, end)
        _write(trajectory := Trajectory(start=start, steps=(), end=end), None)
        return trajectory

    async def _next(self, *, within_s: float | None = None) -> _Attempt | None:
        job = await self._jobs.take(within_s=within_s)
        return None if job is None else _Attempt(job=job)

    def _count(self, trajectory: Trajectory) -> None:
        self._episodes += 1
        self._steps += len(trajectory.steps)
        self._model_ms += sum(step.timings.model_ms for step in trajectory.steps)
        self._act_ms += sum(step.timings.act_ms for step in trajectory.steps)
        if trajectory.end is not None and trajectory.end.outcome is not None:
            self._successes += trajectory.end.outcome.success
        self._tell(trajectory)

    def _tell(self, trajectory: Trajectory) -> None:
        if self._on_done is not None:
            self._on_done(trajectory)

    def close(self) -> None:
        """Ask for no more jobs."""
        self._jobs.close()

    def stats(self) -> WorkerStats:
        """What came of the jobs so far."""
        return WorkerStats(
            episodes=self._episodes,
            successes=self._successes,
            steps=self._steps,
            failures=dict(self._failures),
            given_up=self._given_up,
            seconds=time.monotonic() - self._began_s,
            model_s=self._model_ms / 1000,
            act_s=self._act_ms / 1000,
            account=self._account,
        )


def _split(job: Job) -> Split:
    return split_of(job.task.id, job.task.seed) if job.split is None else job.split


def _write(trajectory: Trajectory, sandbox: str | None) -> None:
    """The episode's line in the log."""
    start, end = trajectory.start, trajectory.end
    if end is None:
        return
    if end.outcome is None:
        outcome = end.stop_reason.value if end.failure is None else end.failure.value
    else:
        outcome = "success" if end.outcome.success else "no success"
    with logs.about(trajectory=start.id, sandbox=sandbox, task_id=start.task.id, outcome=outcome):
        log.info("an episode ended: seed %d, %d turns", start.task.seed, len(trajectory.steps))
