"""Lends the sandboxes of this process: leases, heartbeats, deadlines, replacement of what died."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from deskhand_sandbox import logs
from deskhand_sandbox.base import Backend, Capability
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import LeaseExpired, LeaseUnavailable, SandboxDied, SandboxError, UnknownName
from deskhand_sandbox.manager.journal import Journal, end_left
from deskhand_sandbox.manager.loan import LeasedSandbox, Loan, given_back, lapsed
from deskhand_sandbox.manager.making import MakeBackend, Place
from deskhand_sandbox.manager.metrics import Metrics
from deskhand_sandbox.manager.pool import Pool
from deskhand_sandbox.manager.records import Lease, LeaseStatus, LeaseTerms, ManagerStatus, PoolSettings
from deskhand_sandbox.tools.sandbox import with_tools
from deskhand_sandbox.types import JsonValue, Observation
from deskhand_sandbox.vnc import VncAddress

log = logging.getLogger(__name__)

IN_PROCESS = "in-process"


def registered_backend(kind: str, settings: Mapping[str, JsonValue]) -> Backend:
    """The registry's backend of that name, with tools.

    Raises:
        UnknownName: no such kind.
        BackendMissing: its extra is not installed.
    """
    from deskhand_sandbox.registry import create_backend

    return with_tools(create_backend(kind, **settings))


class SandboxManager:
    """Lends sandboxes of the pools it was given, at most as many as each has places.

    Use as an async context manager. A state folder gives it a journal, by which the next manager on that
    folder ends the processes this one leaves behind if it is killed.
    """

    def __init__(
        self,
        kinds: Mapping[str, PoolSettings],
        *,
        terms: LeaseTerms | None = None,
        deadlines: Deadlines | None = None,
        state_folder: Path | None = None,
        make_backend: MakeBackend = registered_backend,
        owns_process: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            kinds: pools by name; a pool's name is its kind where its settings name none.
            owns_process: every process that this one starts belongs to a sandbox, whenever it is started.
            clock: seconds, never going back.
        """
        self.terms = terms or LeaseTerms()
        self.deadlines = deadlines or Deadlines()
        self.endpoint = IN_PROCESS
        """Where leases say their channel is; the sandbox host sets its own address."""
        self._state_folder = state_folder
        self._journal: Journal | None = None
        self._orphans_ended = 0
        self._owns_process = owns_process
        self._clock = clock
        self._metrics = Metrics()
        self._pools = {
            name: Pool(
                name,
                settings,
                make_backend=make_backend,
                clock=clock,
                starting=self._starting,
                changed=self._note_change,
                metrics=self._metrics,
            )
            for name, settings in kinds.items()
        }
        self._loans: dict[str, Loan] = {}
        self._sandboxes: dict[str, LeasedSandbox] = {}
        self._draining = False
        self._changed = asyncio.Event()
        self._reaper: asyncio.Task[None] | None = None

    # ---- life ---------------------------------------------------------------------------------------

    async def __aenter__(self) -> SandboxManager:
        if self._state_folder is not None:
            kinds = [(pool.kind, pool.settings.settings) for pool in self._pools.values()]
            self._orphans_ended = await asyncio.to_thread(end_left, self._state_folder, kinds)
            self._journal = Journal.begin(self._state_folder, owns_process=self._owns_process)
        self._reaper = asyncio.create_task(self._reap_when_due(), name="reap leases")
        self._reaper.add_done_callback(_report_failure)
        self.reap()  # makes the minimum ready
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def drain(self, timeout_s: float) -> bool:
        """Lend nothing more and wait for the leases to end; False when some are left at the deadline."""
        self._draining = True
        try:
            async with asyncio.timeout(timeout_s):
                while self._loans:
                    await next(iter(self._loans.values())).over.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """End every lease and close every sandbox. Safe to call twice."""
        self._draining = True
        if self._reaper is not None:
            self._reaper.cancel()
            await asyncio.wait([self._reaper])
        for loan in list(self._loans.values()):
            self._end(loan, SandboxDied(f"sandbox {loan.lease.sandbox_id} ends with its manager"))
        try:
            await asyncio.gather(*(pool.close() for pool in self._pools.values()))
        finally:
            if self._journal is not None:
                journal, self._journal = self._journal, None
                await asyncio.to_thread(journal.finish)

    # ---- lending ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[LeasedSandbox, None]:
        """A sandbox for the length of the block; see `SandboxSource`."""
        lease = await self.acquire(kind, owner=owner, wait_s=wait_s, labels=labels)
        try:
            with self.connect(lease.id, lease.token) as sandbox:
                yield sandbox
        finally:
            self.release(lease.id)

    async def acquire(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> Lease:
        """Grant a lease; its holder is to `connect`, `heartbeat` and `release`.

        Raises:
            UnknownName: this manager has no such kind, or none with these labels.
            LeaseUnavailable: none became free within `wait_s`, or the manager is closing.
            BackendMissing, InfrastructureError: a sandbox could not be made.
        """
        if self._reaper is None:
            raise RuntimeError("the manager is not open: use `async with SandboxManager(...) as manager`")
        pool = self._pool(kind, labels or {})
        if self._draining:
            raise LeaseUnavailable("the sandbox manager is closing and lends nothing more")
        self._changed.set()
        place = await pool.take(owner, min(max(wait_s, 0.0), self.terms.max_wait_s))
        if self._draining:  # since it asked
            pool.give_back(place)
            raise LeaseUnavailable("the sandbox manager is closing and lends nothing more")
        return self._lend(place, pool, owner)

    def heartbeat(self, lease_id: str) -> Lease:
        """The holder lives: its silence counts from now.

        Raises:
            LeaseExpired: there is no such lease any more.
        """
        loan = self._loan(lease_id)
        loan.heartbeat_deadline_s = self._clock() + self.terms.heartbeat_s
        return self._lease_now(loan)

    def release(self, lease_id: str) -> bool:
        """Take the sandbox back; False when the lease was over already."""
        loan = self._loans.get(lease_id)
        if loan is None:
            return False
        self._end(loan, given_back(loan.lease))
        return True

    @contextmanager
    def connect(self, lease_id: str, token: str) -> Generator[LeasedSandbox, None, None]:
        """The sandbox of a lease; for the length of the block its holder is known to live.

        Raises:
            LeaseExpired: no live lease has this id and token.
        """
        loan = self._loans.get(lease_id)
        expected = loan.lease.token if loan is not None else secrets.token_urlsafe()
        if not secrets.compare_digest(expected.encode(), token.encode()) or loan is None:
            raise LeaseExpired(
                f"no live lease {lease_id!r} with this token: it was given back, it lapsed, or the token is "
                f"wrong"
            )
        loan.connections += 1
        try:
            yield self._sandboxes[lease_id]
        finally:
            loan.connections -= 1
            loan.heartbeat_deadline_s = self._clock() + self.terms.heartbeat_s
            self._changed.set()

    def capabilities(self, lease_id: str) -> frozenset[Capability]:
        """What the sandbox of a lease can do; nothing when the lease is over."""
        sandbox = self._sandboxes.get(lease_id)
        return sandbox.capabilities if sandbox is not None else frozenset()

    async def look(self, lease_id: str, *, older_s: float) -> Observation | None:
        """The screen of a lease, for somebody who looks on; None before its first reset.

        Args:
            older_s: a screen seen so long ago is looked at anew, where no call is under way.

        Raises:
            LeaseExpired: there is no such lease any more.
            SandboxError: the computer failed.
        """
        self._loan(lease_id)
        return await self._sandboxes[lease_id].look(older_s=older_s)

    async def show(self, lease_id: str, *, wait_s: float) -> VncAddress | None:
        """Where a lease's screen is served by VNC; see `LeasedSandbox.show`.

        Raises:
            LeaseExpired: there is no such lease any more.
            UnsupportedCapability, BackendMissing: its kind serves no VNC, or not here.
            SandboxError: the computer failed.
        """
        self._loan(lease_id)
        return await self._sandboxes[lease_id].show(wait_s=wait_s)

    async def ended(self, lease_id: str) -> SandboxError:
        """Return when the lease is over: what a call on its sandbox says from then on."""
        loan = self._loans.get(lease_id)
        if loan is not None:
            await loan.over.wait()
        if loan is None or loan.end is None:
            return LeaseExpired(f"there is no live lease {lease_id!r}")
        return loan.end

    # ---- time ---------------------------------------------------------------------------------------

    def reap(self) -> None:
        """End what has lapsed by now. Runs by itself when something is due; with another clock, call it."""
        now = self._clock()
        for loan in list(self._loans.values()):
            if loan.deadline_s <= now:
                why = f"it was neither used nor renewed for {self.terms.ttl_s:g} s"
                self._end(loan, lapsed(loan.lease, why))
            elif loan.lapses_at_s() <= now:
                silence = f"its holder gave no sign of life for {self.terms.heartbeat_s:g} s"
                self._end(loan, lapsed(loan.lease, silence))
        for pool in self._pools.values():
            pool.reap(now)

    def status(self) -> ManagerStatus:
        """What is lent, waited for, made and lost."""
        now = self._clock()
        return ManagerStatus(
            draining=self._draining,
            pools=tuple(pool.status() for pool in self._pools.values()),
            leases=tuple(
                LeaseStatus(
                    id=loan.lease.id,
                    kind=loan.lease.kind,
                    sandbox_id=loan.lease.sandbox_id,
                    owner=loan.lease.owner,
                    age_s=now - loan.started_s,
                    connected=loan.connections > 0,
                    task_id=loan.task_id,
                    vnc=self._sandboxes[loan.lease.id].serves_vnc,
                )
                for loan in self._loans.values()
            ),
            orphans_ended=self._orphans_ended,
        )

    def metrics(self) -> bytes:
        """What Prometheus reads."""
        return self._metrics.exposition(self.status().pools)

    # ---- within -------------------------------------------------------------------------------------

    def _pool(self, kind: str, labels: Mapping[str, str]) -> Pool:
        """The pool of that kind and sort with the fewest requests for each place."""
        pools = [pool for pool in self._pools.values() if pool.kind == kind]
        if not pools:
            raise UnknownName("kind of sandbox on this host", kind, {p.kind for p in self._pools.values()})
        fitting = [pool for pool in pools if pool.has_labels(labels)]
        if not fitting:
            known = [_written(pool.settings.labels) for pool in pools]
            raise UnknownName(f"labels of {kind} sandboxes", _written(labels), known)
        return min(fitting, key=Pool.backlog)

    async def _reap_when_due(self) -> None:
        while True:
            self._changed.clear()
            due = [loan.lapses_at_s() for loan in self._loans.values()]
            due += [pool.next_deadline_s() for pool in self._pools.values()]
            next_s = min(due, default=float("inf"))
            wait_s = None if next_s == float("inf") else max(0.0, next_s - self._clock())
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                self.reap()

    @contextmanager
    def _starting(self) -> Generator[None, None, None]:
        if self._journal is None:
            yield
        else:
            with self._journal.watching():
                yield

    def _lend(self, place: Place, pool: Pool, owner: str) -> Lease:
        now = self._clock()
        lease_id = secrets.token_hex(8)
        lease = Lease(
            id=lease_id,
            kind=pool.kind,
            sandbox_id=place.sandbox.id,
            owner=owner,
            token=secrets.token_urlsafe(32),
            heartbeat_deadline_s=now + self.terms.heartbeat_s,
            deadline_s=now + self.terms.ttl_s,
            endpoint=IN_PROCESS
            if self.endpoint == IN_PROCESS
            else f"{self.endpoint}/v1/leases/{lease_id}/io",
        )
        loan = Loan(lease, place, pool, started_s=now, anew=lambda: self._clock() + self.terms.ttl_s)

        async def give_back() -> None:
            self.release(lease.id)

        self._loans[lease.id] = loan
        self._sandboxes[lease.id] = LeasedSandbox(place.sandbox, loan, self.deadlines, close=give_back)
        self._changed.set()
        with logs.about(lease=lease.id, sandbox=lease.sandbox_id):
            log.info("lent to %s", owner)
        return lease

    def _end(self, loan: Loan, end: SandboxError) -> None:
        with logs.about(lease=loan.lease.id, sandbox=loan.lease.sandbox_id):
            log.info("the lease is over: %s", end)
        del self._loans[loan.lease.id], self._sandboxes[loan.lease.id]
        loan.finish(end)
        self._changed.set()

    def _note_change(self) -> None:
        self._changed.set()

    def _loan(self, lease_id: str) -> Loan:
        loan = self._loans.get(lease_id)
        if loan is None:
            raise LeaseExpired(f"there is no live lease {lease_id!r}: it was given back or it lapsed")
        return loan

    def _lease_now(self, loan: Loan) -> Lease:
        return replace(loan.lease, heartbeat_deadline_s=loan.heartbeat_deadline_s, deadline_s=loan.deadline_s)


def _written(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items()) or "no labels"


def _report_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("leases are not reaped any more", exc_info=error)
