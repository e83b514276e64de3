"""A lease as the manager keeps it, and the sandbox as its holder sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import (
    BackendMissing,
    InvalidAction,
    InvalidTask,
    LeaseExpired,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
    UnknownName,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.manager.extras import Extra, Lent, OpenEndpoint, OpenVnc, PassesOn, files_asked
from deskhand_sandbox.manager.making import Place
from deskhand_sandbox.manager.pool import Pool
from deskhand_sandbox.manager.records import Lease, Lost
from deskhand_sandbox.tools.sandbox import without_tools
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task
from deskhand_sandbox.vnc import ServesVnc, VncAddress

Result = TypeVar("Result")

HARMLESS = (InvalidAction, InvalidTask, UnsupportedCapability, UnknownName, VerifierError)
"""After these the sandbox is as good as before."""
HARMLESS_EXTRAS = (*HARMLESS, BackendMissing)
"""The same for calls beyond the contract: a program that one of them needs is not installed."""


class Loan:
    """One lease with what changes about it."""

    def __init__(
        self, lease: Lease, place: Place, pool: Pool, *, started_s: float, anew: Callable[[], float]
    ) -> None:
        """
        Args:
            anew: when a lease that was granted now would end.
        """
        self.lease = lease
        self.deadline_s = lease.deadline_s
        """When it ends in any case, unless its holder asks for something before, or renews it."""
        self._anew = anew
        self.place = place
        self.pool = pool
        self.started_s = started_s
        self.heartbeat_deadline_s = lease.heartbeat_deadline_s
        self.connections = 0
        """Open channels, or 1 for a holder in this process: while there is one, silence means nothing."""
        self.unfit: Lost | None = None
        """Why the sandbox cannot serve again; None while it can."""
        self.end: SandboxError | None = None
        """Why the lease is over; None while it lasts."""
        self.over = asyncio.Event()
        self.running: dict[asyncio.Timeout, bool] = {}
        """The holder's calls under way, and whether each is on the leased sandbox itself, not on a fork."""
        self.onlookers: set[asyncio.Task[Any]] = set()
        """Calls under way for those who look on: never cut, and no sign that the holder lives."""
        self.task_id: str | None = None
        """Of the task the sandbox was last reset to; None before that."""
        self.extras: list[Sandbox] = []
        """Forks made under this lease and not closed yet; they end with it."""

    def lapses_at_s(self) -> float:
        """When the lease ends unless something happens."""
        if self.connections:
            return self.deadline_s
        return min(self.deadline_s, self.heartbeat_deadline_s)

    def renew(self) -> None:
        """It lasts from now as if it had just been granted."""
        self.deadline_s = self._anew()

    def condemn(self, reason: Lost) -> None:
        """Note that the sandbox cannot serve again; the first reason stands."""
        if self.unfit is None:
            self.unfit = reason

    def finish(self, end: SandboxError) -> None:
        """End the lease: a running call is cut off, the sandbox goes back or away. Safe to call twice.

        Where somebody just looks on, it goes back once they have seen it.
        """
        if self.end is not None:
            return
        self.end = end
        self.over.set()
        for cut, on_the_sandbox_itself in self.running.items():
            if on_the_sandbox_itself:
                self.condemn(Lost.CALL_CUT)
            if not cut.expired():
                cut.reschedule(0.0)
        for extra in self.extras:
            self.pool.close_extra(extra)
        if self.unfit is None and self.onlookers:
            seen = asyncio.gather(*self.onlookers, return_exceptions=True)
            seen.add_done_callback(lambda _: self._return())
        else:
            self._return()

    def _return(self) -> None:
        if self.unfit is None:
            self.pool.give_back(self.place)
        else:
            self.pool.discard(self.place, self.unfit)


class LeasedSandbox(Sandbox, PassesOn):
    """The sandbox on loan: works while the lease lasts, and tells the manager when the sandbox is broken."""

    def __init__(
        self,
        inner: Sandbox,
        loan: Loan,
        deadlines: Deadlines,
        *,
        close: Callable[[], Awaitable[None]],
        is_fork: bool = False,
    ) -> None:
        self._is_fork = is_fork
        self._unfit: Lost | None = None
        self._inner = inner
        self._loan = loan
        self._deadlines = deadlines
        self._close = close
        self._recordings = 0
        self._lock = asyncio.Lock()
        self._last: tuple[float, Observation] | None = None
        self._looking: asyncio.Task[Observation] | None = None
        self._showing: asyncio.Task[VncAddress] | None = None
        self.id = inner.id
        self.kind = inner.kind
        self.capabilities = inner.capabilities

    async def reset(self, task: Task) -> Start:
        asked = files_asked(task)
        if asked and not self._is_fork:
            self._loan.condemn(Lost.RECORDED)
        start = await self._call("reset", self._deadlines.reset_s, lambda: self._inner.reset(task))
        self._recordings += asked
        self._loan.task_id = task.id
        self._seen(start.observation)
        return start

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return self._seen(
            await self._call(
                "observe", self._deadlines.call_s, lambda: self._inner.observe(text_tree=text_tree)
            )
        )

    async def act(self, action: DeviceAction) -> Observation:
        return self._seen(
            await self._call("act", self._deadlines.of_action(action), lambda: self._inner.act(action))
        )

    async def evaluate(self, expression: str) -> JsonValue:
        return await self._call("evaluate", self._deadlines.call_s, lambda: self._inner.evaluate(expression))

    async def snapshot(self) -> str:
        return await self._call("snapshot", self._deadlines.reset_s, self._inner.snapshot)

    async def restore(self, snapshot_id: str) -> Observation:
        return await self._call("restore", self._deadlines.reset_s, lambda: self._inner.restore(snapshot_id))

    async def forget(self, snapshot_id: str) -> None:
        await self._call("forget", self._deadlines.reset_s, lambda: self._inner.forget(snapshot_id))

    async def fork(self, n: int) -> list[Sandbox]:
        """`n` copies under the same lease, which ends them too; they come on top of the pool's places."""
        made = await self._call("fork", self._deadlines.reset_s, lambda: self._inner.fork(n))
        if self._loan.end is not None:  # in the very moment they were made
            for extra in made:
                self._loan.pool.close_extra(extra)
            raise self._loan.end
        self._loan.extras += made
        return [
            LeasedSandbox(
                extra, self._loan, self._deadlines, close=partial(self._let_go, extra), is_fork=True
            )
            for extra in made
        ]

    async def extra(self, call: Extra[Result]) -> Result:
        if call.of_lease:  # not to wait for a call that is under way
            self._refuse_when_over(call.name)
            return await call.carry_out(self._inner, self._lent)
        result = await self._carry_out(call)
        if isinstance(call, OpenEndpoint) and not self._is_fork:
            self._loan.condemn(Lost.OPENED)
        return result

    async def look(self, *, older_s: float) -> Observation | None:
        """What the holder last saw, for somebody who looks on; None before the first reset.

        Args:
            older_s: what is as old as this is looked at anew, where the holder does nothing just then.

        Raises:
            As `observe`.
        """
        if self._last is None:
            return None
        seen_s, seen = self._last
        if time.monotonic() - seen_s < older_s or not self.alive():
            return seen
        if self._looking is None or self._looking.done():
            if self._lock.locked():
                return seen
            self._looking = self._for_onlookers(self._seen_anew(), name=f"look at {self.id}")
        # an onlooker that goes away must not cut the call: the sandbox would be taken for broken
        return await asyncio.shield(self._looking)

    @property
    def serves_vnc(self) -> bool:
        """Whether `show` can give an address."""
        return isinstance(without_tools(self._inner), ServesVnc)

    async def show(self, *, wait_s: float) -> VncAddress | None:
        """Where the screen is served by VNC, for somebody who looks on.

        None before the first reset, and where a call of the holder's lasts longer than `wait_s`.

        Raises:
            As `open_vnc`.
        """
        if self._last is None:
            return None
        if self._showing is None or self._showing.done():
            opening = self._carry_out(OpenVnc(), by_holder=False)
            self._showing = self._for_onlookers(opening, name=f"show {self.id}")
        showing = self._showing
        await asyncio.wait({showing}, timeout=wait_s)  # as in `look`: not cut
        return showing.result() if showing.done() else None

    def _for_onlookers(self, call: Coroutine[Any, Any, Result], *, name: str) -> asyncio.Task[Result]:
        task = asyncio.create_task(call, name=name)
        self._loan.onlookers.add(task)
        task.add_done_callback(self._loan.onlookers.discard)
        # it may end with nobody there to be told
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return task

    async def _seen_anew(self) -> Observation:
        seen = self._call("observe", self._deadlines.call_s, self._inner.observe, by_holder=False)
        return self._seen(await seen)

    def _seen(self, observation: Observation) -> Observation:
        self._last = time.monotonic(), observation
        self._loan.pool.metrics.settled(self.kind, observation.settled_ms / 1000)
        return observation

    def alive(self) -> bool:
        return self._loan.end is None and self._unfit is None and self._inner.alive()

    async def close(self) -> None:
        """Give the sandbox back before the lease's block ends; a fork is closed."""
        await self._close()

    @property
    def _lent(self) -> Lent:
        return Lent(token=self._loan.lease.token, recordings=self._recordings, renew=self._loan.renew)

    async def _carry_out(self, call: Extra[Result], *, by_holder: bool = True) -> Result:
        return await self._call(
            call.name,
            self._deadlines.reset_s,
            lambda: call.carry_out(without_tools(self._inner), self._lent),
            harmless=HARMLESS_EXTRAS,
            by_holder=by_holder,
        )

    async def _call(
        self,
        what: str,
        limit_s: float,
        run: Callable[[], Awaitable[Result]],
        *,
        harmless: tuple[type[SandboxError], ...] = HARMLESS,
        by_holder: bool = True,
    ) -> Result:
        async with self._lock:
            self._refuse_when_over(what)
            if by_holder:
                self._loan.renew()
            cut, began = asyncio.timeout(limit_s), time.perf_counter()
            metrics = self._loan.pool.metrics
            try:
                async with cut:
                    if by_holder:
                        self._loan.running[cut] = not self._is_fork
                    result = await run()
                metrics.called(self.kind, what, time.perf_counter() - began)
                return result
            except harmless as error:
                metrics.failed(self.kind, error)
                raise
            except TimeoutError as error:
                cut_off = by_holder and self._loan.end is not None
                self._condemn(Lost.CALL_CUT if cut_off else Lost.TIMED_OUT)
                metrics.failed(self.kind, error)
                raise self._loan.end or SandboxTimeout(
                    f"{what} on {self.kind} sandbox {self.id} took longer than {limit_s:g} s"
                ) from error
            except BaseException as error:
                self._condemn(_lost_by(error))
                metrics.failed(self.kind, error)
                if self._loan.end is not None and isinstance(error, SandboxError):
                    raise self._loan.end from error
                raise
            finally:
                if self._loan.running.pop(cut, None) is not None:
                    self._loan.renew()

    async def _let_go(self, fork: Sandbox) -> None:
        """Close a fork of it: the lease need not."""
        await fork.close()
        if fork in self._loan.extras:
            self._loan.extras.remove(fork)

    def _condemn(self, reason: Lost) -> None:
        self._unfit = self._unfit or reason
        if not self._is_fork:
            self._loan.condemn(reason)

    def _refuse_when_over(self, what: str) -> None:
        if self._loan.end is not None:
            raise self._loan.end
        if self._unfit is not None:
            raise SandboxDied(f"{what} on {self.kind} sandbox {self.id}: it failed before ({self._unfit})")


def _lost_by(error: BaseException) -> Lost:
    match error:
        case SandboxDied():
            return Lost.DIED
        case SandboxTimeout():
            return Lost.TIMED_OUT
        case SandboxError():
            return Lost.FAILED
        case asyncio.CancelledError():
            return Lost.CALL_CUT
        case _:
            return Lost.BUG


def given_back(lease: Lease) -> SandboxDied:
    """What a call on a sandbox says after its holder gave it back."""
    return SandboxDied(f"{lease.kind} sandbox {lease.sandbox_id} was given back")


def lapsed(lease: Lease, why: str) -> LeaseExpired:
    """What a call on a sandbox says after its lease ran out."""
    return LeaseExpired(f"the lease {lease.id} on {lease.kind} sandbox {lease.sandbox_id} is over: {why}")
