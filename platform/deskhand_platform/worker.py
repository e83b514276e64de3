"""The episode worker: claims submitted tasks, works them in sandboxes, writes the store, settles the queue.

`python -m deskhand_platform.worker PARENT_PID` is the process `deskhand serve` keeps alive. It loads no torch
unless a task asks for a model that runs here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from deskhand_agent.errors import AgentError
from deskhand_agent.reviewing import REVIEWED, ReviewedPolicy
from deskhand_agent.steering import SteeredPolicy
from deskhand_agent.test_time.deliberating import Deliberate
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Failure, Trajectory
from deskhand_agent.worker import Job, WorkerSettings, run_episodes
from deskhand_flywheel.branching_off import BranchOrder, branch_off, cut_short
from deskhand_flywheel.errors import FlywheelError, NotFound, NotReplayable, StorageFull, StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_platform.accounts.quotas import Quotas, note_recorded
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import PlatformError
from deskhand_platform.host_address import HostClient
from deskhand_platform.lease_owners import lease_owner
from deskhand_platform.lifeline import die_with_parent
from deskhand_platform.noting import Noting
from deskhand_platform.policies import PolicyMaker
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.settings import WorkerSettings as Limits
from deskhand_platform.states import WorkState
from deskhand_platform.takeovers import LONGEST_S, Takeovers
from deskhand_platform.task_orders import PolicyRef, QueuedTask
from deskhand_platform.told_source import NoSandbox, ToldSource, leased
from deskhand_sandbox import logs
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.errors import BackendMissing, InvalidTask, SandboxError, UnknownName
from deskhand_sandbox.registry import create_verifier

log = logging.getLogger("deskhand_platform.worker")

Sources = Callable[[], SandboxSource | None]
"""The sandbox source as it is now; None while there is none."""
HOPELESS = (UnknownName, InvalidTask, BackendMissing, AgentError, PlatformError, NotFound, NotReplayable)
"""What a further attempt would not change: the task or the policy is not to be had as asked for."""
AWAY = (StoreUnavailable, StorageFull)
"""What passes by itself, or once somebody has seen to it: the store is asked again."""
SHORT_S = 10.0
"""How long a task waits that found no sandbox; others go meanwhile."""
LONGEST_PAUSE_S = 30.0
"""Of a slot that found no sandbox time after time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How an attempt ended."""

    state: WorkState
    """`QUEUED`: to be tried again."""
    trajectory: Trajectory | None
    reason: str | None
    short: bool = False
    """There was no sandbox: nothing was tried, and it does not count."""


class EpisodeWorker:
    """Works tasks of the queue, several at once."""

    def __init__(
        self,
        *,
        queue: TaskQueue,
        sink: Store,
        policies: Callable[[PolicyRef], Awaitable[Deliberate]],
        sources: Sources,
        limits: Limits,
    ) -> None:
        self._queue = queue
        self._sink = sink
        self._proposals = Proposals(sink)
        self._takeovers = Takeovers(sink.database)
        self._policies = policies
        self._sources = sources
        self._limits = limits
        self._looking = asyncio.Lock()
        self.name = f"{socket.gethostname()}-{os.getpid()}"[-64:]

    async def work(self, stop: asyncio.Event) -> None:
        """Work until told to stop; episodes under way then go back to the queue."""
        slots = [asyncio.create_task(self._slot()) for _ in range(self._limits.slots)]
        stopped = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait([*slots, stopped], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in [*slots, stopped]:
                task.cancel()
            await asyncio.wait([*slots, stopped])

    async def _slot(self) -> None:
        short = 0
        while True:
            pause_s = self._limits.poll_s
            # a claim that could not be settled runs out by itself; the other slots go on
            async with log_and_continue("the queue is asked again", *AWAY):
                ending = await self._work_next()
                short = short + 1 if ending.short else 0
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2 ** min(short, 10)) if short else 0.0
            await asyncio.sleep(pause_s)

    async def _work_next(self) -> Ending:
        """How the next task's attempt ended, which is waited for."""
        # by one slot at a time: more of them look at an empty queue no oftener
        async with self._looking:
            claimed = await self._claim()
            while claimed is None:
                await asyncio.sleep(self._limits.poll_s)
                claimed = await self._claim()
        with logs.about(task=claimed.id):
            log.info("attempt %d at %s began", claimed.attempts, claimed.task.id)
            return await self.attempt(claimed)

    async def _claim(self) -> QueuedTask | None:
        """The next task; none while there is no sandbox host to work it, though deadlines pass."""
        if self._sources() is None:
            await self._queue.expire(self._limits.attempts)
            return None
        return await self._queue.claim(self.name, self._limits.claim_s, self._limits.attempts)

    async def attempt(self, claimed: QueuedTask) -> Ending:
        """Work one claimed task and settle it."""
        episode = asyncio.create_task(self._episode(claimed))
        holding = asyncio.create_task(self._hold(claimed))
        try:
            await asyncio.wait([episode, holding], return_when=asyncio.FIRST_COMPLETED)
            if episode.done():
                ending = episode.result()
            else:
                episode.cancel()
                await asyncio.wait([episode])
                ending = self._let_go(claimed, holding.exception())
            await self._settle(claimed, ending)
            return ending
        except asyncio.CancelledError:
            episode.cancel()
            await asyncio.wait([episode])
            with suppress(*AWAY):  # its claim runs out by itself, and the worker is to end
                await self._queue.put_back(claimed, self.name, "the worker was stopped")
            raise
        finally:
            holding.cancel()
            # not `suppress(CancelledError)`: that would swallow the worker's own end
            await asyncio.gather(holding, return_exceptions=True)

    async def _hold(self, claimed: QueuedTask) -> None:
        """Renew the claim; returns when the task is to be let go.

        Raises:
            StoreUnavailable, StorageFull: it could not be renewed for as long as one holds.
        """
        hold_s, until_s = self._limits.claim_s, math.inf
        while not _late(claimed):
            try:
                if not await self._queue.renew(claimed, self.name, hold_s):
                    return
                until_s = math.inf
            except AWAY as error:
                # from the first failure on: the store itself may have waited longer than a claim holds
                until_s = min(until_s, time.monotonic() + hold_s)
                if time.monotonic() > until_s:
                    raise
                log.warning("the claim of task %s could not be renewed: %s", claimed.id, error)
            left_s = math.inf if claimed.deadline_s is None else claimed.deadline_s - time.time()
            await asyncio.sleep(max(0.0, min(1.0, hold_s / 4, left_s)))

    async def _episode(self, claimed: QueuedTask) -> Ending:
        source, ended = self._sources(), list[Trajectory]()
        if source is None:
            return _short("no sandbox host is up")
        review_s, owner = claimed.policy.waits_s, lease_owner(claimed.id)
        labels = {"task": claimed.id, **claimed.labels, "owner": claimed.owner}
        told = ToldSource(source)
        noting = Noting(
            self._sink, lambda start: self._queue.begun(claimed, self.name, start.id), attended=told.renew
        )
        over = asyncio.Event()
        watching = asyncio.create_task(self._watch(noting, told, over))
        try:
            done = await self._policies(claimed.policy)
            policy = done.policy
            deadlines = _deadlines(self._limits).of_policy(policy)
            if review_s is not None:
                policy = ReviewedPolicy(policy, self._proposals, wait_s=review_s)
                labels |= REVIEWED
            policy = SteeredPolicy(policy, self._takeovers, person_s=LONGEST_S)
            task = done.limited(claimed.task)
            create_verifier(task.verifier)  # one that cannot be made is hopeless: it is told before a lease
            if claimed.branch is not None:
                order = BranchOrder(
                    of=await self._sink.trajectory(claimed.branch.trajectory_id),
                    step=claimed.branch.step,
                    task=task,
                    episodes=claimed.branch.episodes,
                )
                async with told.lease(task.environment.kind, owner=owner) as sandbox:
                    ended += await branch_off(
                        order,
                        sandbox=sandbox,
                        policy=policy,
                        sink=noting,
                        labels=labels,
                        deadlines=deadlines,
                        self_check=done.self_check,
                    )
                ending = self._judge(claimed, ended[0])
                if ending.state is WorkState.DONE and (why := cut_short(order, ended)) is not None:
                    ending = replace(ending, reason=f"{ending.reason}; {why}" if ending.reason else why)
                return ending
            await run_episodes(
                [Job(task=task, labels=labels)],
                source=told,
                policy=policy,
                sink=noting,
                settings=WorkerSettings(
                    concurrency=1,
                    retries=0,
                    attempts=done.attempts,
                    self_check=done.self_check,
                    deadlines=deadlines,
                    notebook=None if done.notebook is None else done.notebook.of(claimed.owner),
                ),
                owner=owner,
                on_done=ended.append,
            )
        except NoSandbox as error:
            return _short(str(error))
        except HOPELESS as error:
            return Ending(state=WorkState.FAILED, trajectory=None, reason=str(error))
        except (SandboxError, FlywheelError, OSError) as error:
            return self._broken(claimed, None, str(error))
        except Exception as error:
            # a bug in a policy or a verifier: the other tasks of this process are not to end with it
            log.exception("task %s ended in a bug", claimed.id)
            reason = f"{type(error).__name__}: {error}; the traceback is in the worker's log"
            return Ending(state=WorkState.FAILED, trajectory=None, reason=reason)
        finally:
            over.set()
            await watching
            await self._count(claimed.owner, noting.sizes)
        return self._judge(claimed, ended[-1])

    async def _watch(self, noting: Noting, told: ToldSource, over: asyncio.Event) -> None:
        """Renew the loan while a person holds the controls, whether they do something or think.

        It is told of the end, not cancelled: a call that is cut breaks its channel.
        """
        while not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self._limits.claim_s / 4)
            with suppress(FlywheelError):  # the episode itself says what is wrong with the store
                if noting.current and await self._takeovers.get(noting.current) is not None:
                    await told.renew()

    async def _count(self, owner: str, sizes: Mapping[str, int]) -> None:
        for trajectory_id, size in sizes.items():
            try:
                await note_recorded(self._sink.database, trajectory_id, owner, size)
            except FlywheelError:  # the episode is worth more than its size
                log.exception("%d bytes of %s are not counted", size, owner)

    def _judge(self, claimed: QueuedTask, trajectory: Trajectory) -> Ending:
        end = trajectory.end
        if end is None or end.failure is not None:
            what = "the episode did not end" if end is None else f"{end.failure}: {end.failure_detail}"
            if end is not None and end.failure is Failure.TASK_REFUSED:
                return Ending(state=WorkState.FAILED, trajectory=trajectory, reason=what)
            return self._broken(claimed, trajectory, what)
        reason = None if end.outcome is not None else f"no verdict: {end.stop_reason}"
        return Ending(state=WorkState.DONE, trajectory=trajectory, reason=reason)

    def _broken(self, claimed: QueuedTask, trajectory: Trajectory | None, what: str) -> Ending:
        """The infrastructure failed: again, until the attempts are spent."""
        if claimed.attempts < self._limits.attempts:
            return Ending(state=WorkState.QUEUED, trajectory=trajectory, reason=what)
        reason = f"gave up after {claimed.attempts} attempts: {what}"
        return Ending(state=WorkState.FAILED, trajectory=trajectory, reason=reason)

    def _let_go(self, claimed: QueuedTask, error: BaseException | None) -> Ending:
        """Of an episode that was stopped, because of an error or because nobody wants it any more."""
        if error is not None:
            return self._broken(claimed, None, f"its claim was lost: {error}")
        state, reason = WorkState.CANCELLED, "cancelled"
        if _late(claimed):
            state, reason = WorkState.FAILED, "its deadline passed while it was worked"
        return Ending(state=state, trajectory=None, reason=reason)

    async def _settle(self, claimed: QueuedTask, ending: Ending) -> None:
        log.info("the attempt ended: %s%s", ending.state, f", {ending.reason}" if ending.reason else "")
        if ending.short:
            await self._queue.put_off(claimed, self.name, ending.reason or "", SHORT_S)
            return
        if ending.state is WorkState.QUEUED:
            await self._queue.put_back(claimed, self.name, ending.reason or "")
            return
        end = ending.trajectory.end if ending.trajectory else None
        outcome = end.outcome if end else None
        done = ending.trajectory if ending.state is WorkState.DONE else None
        await self._queue.settle(
            claimed,
            self.name,
            ending.state,
            outcome=outcome,
            reason=ending.reason,
            # of branches the first: others have begun since
            trajectory_id=done.id if done else None,
        )


def _deadlines(limits: Limits) -> Deadlines:
    return Deadlines(
        reset_s=limits.reset_s, model_s=limits.decision_s, act_s=limits.act_s, verify_s=limits.verify_s
    )


def _short(why: str) -> Ending:
    return Ending(state=WorkState.QUEUED, trajectory=None, reason=why, short=True)


def _late(claimed: QueuedTask) -> bool:
    return claimed.deadline_s is not None and claimed.deadline_s <= time.time()


async def serve_queue(settings: Settings, stop: asyncio.Event) -> None:
    """Work this home's queue until told to stop."""
    host = HostClient(settings.home)
    urls = settings.db_url, settings.blobs_url
    async with await Store.open(*urls, near_frames=settings.near_frames) as store:
        quotas = Quotas(store.database, settings.quotas)
        maker = PolicyMaker(
            store,
            settings.home / "policies",
            notes=settings.home / "notes",
            models=settings.worker.models,
            decision_s=settings.worker.decision_s,
        )
        worker = EpisodeWorker(
            queue=TaskQueue(store.database, quotas, leased=lambda: leased(host.get())),
            sink=store,
            policies=maker.deliberate,
            sources=host.get,
            limits=settings.worker,
        )
        try:
            await worker.work(stop)
        finally:
            await maker.close()
            await host.close()


async def _main(parent_pid: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    die_with_parent(parent_pid)
    settings = load_settings()
    logs.configure(settings.logs, process="worker")
    await serve_queue(settings, stop)


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1])))
