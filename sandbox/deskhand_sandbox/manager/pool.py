"""The sandboxes of one kind: made when asked for, handed out in order of asking, replaced when they die."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    LeaseUnavailable,
    SandboxDied,
    SandboxTimeout,
)
from deskhand_sandbox.manager.records import PoolSettings, PoolStatus
from deskhand_sandbox.types import JsonValue

log = logging.getLogger(__name__)

MakeBackend = Callable[[str, Mapping[str, JsonValue]], Backend]


@dataclass(eq=False, slots=True)
class Shared:
    """A backend and how many places stand on it: it is closed when it is retired and the last one is gone."""

    backend: Backend
    users: int = 0
    retired: bool = False
    closing: bool = False


@dataclass(eq=False, slots=True)
class Place:
    """One sandbox of the pool."""

    sandbox: Sandbox
    shared: Shared
    idle_since_s: float = 0.0


@dataclass(eq=False, slots=True)
class Waiter:
    """One request for a sandbox."""

    deadline_s: float
    wait_s: float
    place: asyncio.Future[Place] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Pool:
    """Places of one kind. All but making and closing is synchronous: no state is ever half-changed."""

    def __init__(
        self,
        kind: str,
        settings: PoolSettings,
        *,
        make_backend: MakeBackend,
        clock: Callable[[], float],
        starting: Callable[[], AbstractContextManager[None]],
        changed: Callable[[], None],
    ) -> None:
        """
        Args:
            starting: a block around every start of a sandbox: the journal looks out for new processes.
            changed: called when `next_deadline_s` may have changed by itself.
        """
        self.kind = kind
        self.settings = settings
        self._make_backend = make_backend
        self._clock = clock
        self._starting = starting
        self._changed = changed
        self._shared: Shared | None = None
        self._idle: deque[Place] = deque()
        self._out: set[Place] = set()
        self._waiters: deque[Waiter] = deque()
        self._creating: set[asyncio.Task[Place]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._created = 0
        self._died: Counter[str] = Counter()
        self._closed = False

    # ---- taking and giving back ---------------------------------------------------------------------

    async def take(self, wait_s: float) -> Place:
        """A place, in order of asking.

        Raises:
            LeaseUnavailable: none became free within `wait_s`, or the pool is closing.
            BackendMissing, InfrastructureError: it could not be made.
        """
        self._refuse_when_closed()
        waiter = Waiter(deadline_s=self._clock() + wait_s, wait_s=wait_s)
        self._waiters.append(waiter)
        self._serve()
        try:
            return await waiter.place
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def give_back(self, place: Place) -> None:
        """Take back a sandbox that can serve again: the next task's reset cleans it."""
        self._out.discard(place)
        if place.shared.retired or not place.sandbox.alive():
            self._throw_away(place, "retired with its backend" if place.shared.retired else "died idle")
        else:
            place.idle_since_s = self._clock()
            self._idle.append(place)
        self._serve()

    def discard(self, place: Place, reason: str) -> None:
        """Take back a sandbox that can serve no more; another is made when somebody asks."""
        self._out.discard(place)
        self._throw_away(place, reason)
        if not place.shared.backend.alive():
            self._retire(place.shared)
        self._serve()

    def close_extra(self, sandbox: Sandbox) -> None:
        """Close, in the background, a sandbox that was never a place: a fork of one."""
        self._in_background(self._close_sandbox(sandbox))

    # ---- time ---------------------------------------------------------------------------------------

    def reap(self, now_s: float) -> None:
        """Refuse who waited too long, close what was idle too long, keep the minimum ready."""
        self._forget_cancelled()
        coming = len(self._creating)
        # a request that a sandbox in the making is about to serve is let through: making has its own deadline
        for waiter in list(self._waiters)[coming:]:
            if waiter.deadline_s <= now_s:
                self._waiters.remove(waiter)
                waiter.place.set_exception(LeaseUnavailable(self._why_none(waiter)))
        spare = self._ready() - self.settings.min_sandboxes
        while spare > 0 and self._idle and self._overdue(self._idle[0], now_s):
            spare -= 1
            self._throw_away(self._idle.popleft(), "idle")
        self._serve()

    def next_deadline_s(self) -> float:
        """When `reap` has something to do next; infinity when never."""
        times = [waiter.deadline_s for waiter in list(self._waiters)[len(self._creating) :]]
        if self._idle and self._ready() > self.settings.min_sandboxes:
            times.append(self._idle[0].idle_since_s + self.settings.idle_s)
        return min(times, default=float("inf"))

    def status(self) -> PoolStatus:
        """The counters now."""
        return PoolStatus(
            kind=self.kind,
            max_sandboxes=self.settings.max_sandboxes,
            leased=len(self._out),
            idle=len(self._idle),
            creating=len(self._creating),
            closing=len(self._closing),
            queued=len(self._waiters),
            created=self._created,
            died=dict(self._died),
        )

    async def close(self) -> None:
        """Refuse who waits, close every sandbox and every backend. Safe to call twice."""
        self._closed = True
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.place.done():
                waiter.place.set_exception(LeaseUnavailable(f"the {self.kind} pool is closing"))
        making = list(self._creating)
        for task in making:
            task.cancel()
        if making:
            await asyncio.wait(making)
        for place in [*self._idle, *self._out]:
            self._throw_away(place, "pool closed")
        self._idle.clear()
        self._out.clear()
        if self._shared is not None:
            self._retire(self._shared)
        while self._closing:
            await asyncio.wait(self._closing)

    # ---- within -------------------------------------------------------------------------------------

    def _size(self) -> int:
        return len(self._idle) + len(self._out) + len(self._creating) + len(self._closing)

    def _ready(self) -> int:
        return len(self._idle) + len(self._out) + len(self._creating)

    def _overdue(self, place: Place, now_s: float) -> bool:
        return place.idle_since_s + self.settings.idle_s <= now_s

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise LeaseUnavailable(f"the {self.kind} pool is closed")

    def _why_none(self, waiter: Waiter) -> str:
        return (
            f"no {self.kind} sandbox became free within {waiter.wait_s:g} s: {len(self._out)} of "
            f"{self.settings.max_sandboxes} are on loan and {len(self._waiters)} more requests wait; raise "
            f"max_sandboxes or wait longer"
        )

    def _serve(self) -> None:
        """Hand idle sandboxes to who waits, then make as many as are still missing and fit."""
        self._forget_cancelled()
        while self._waiters and self._idle:
            place = self._idle.pop()  # the one used last is the warmest
            if not place.sandbox.alive():
                self._throw_away(place, "died idle")
            else:
                self._out.add(place)
                self._waiters.popleft().place.set_result(place)
        if self._closed:
            return
        missing = max(len(self._waiters) - len(self._creating), self.settings.min_sandboxes - self._ready())
        for _ in range(min(missing, self.settings.max_sandboxes - self._size())):
            task = asyncio.create_task(self._make(), name=f"make a {self.kind} sandbox")
            self._creating.add(task)
            task.add_done_callback(self._made)

    def _forget_cancelled(self) -> None:
        """Drop requests whose askers were cancelled but have not run since."""
        for waiter in [waiter for waiter in self._waiters if waiter.place.done()]:
            self._waiters.remove(waiter)

    def _withdraw(self, waiter: Waiter) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif waiter.place.done() and not waiter.place.cancelled() and waiter.place.exception() is None:
            self.give_back(waiter.place.result())  # it came in the very moment the request was cancelled

    async def _make(self) -> Place:
        try:
            async with asyncio.timeout(self.settings.create_s):
                with self._starting():
                    return await self._make_on_living_backend()
        except TimeoutError as error:
            raise SandboxTimeout(
                f"making a {self.kind} sandbox took longer than {self.settings.create_s:g} s"
            ) from error

    async def _make_on_living_backend(self) -> Place:
        shared, fresh = self._current()
        try:
            return await self._make_on(shared)
        except BackendMissing:
            raise
        except InfrastructureError as error:
            self._retire(shared)
            if fresh:
                raise
            log.warning("the %s backend makes no sandboxes any more (%s): starting another", self.kind, error)
        return await self._make_on(self._current()[0])

    async def _make_on(self, shared: Shared) -> Place:
        shared.users += 1
        try:
            sandbox = await shared.backend.create()
        except BaseException:
            self._leave(shared)
            raise
        return Place(sandbox, shared)

    def _current(self) -> tuple[Shared, bool]:
        """The backend to make sandboxes on, and whether it was made just now."""
        if self._shared is not None and not self._shared.backend.alive():
            self._retire(self._shared)
        if self._shared is not None:
            return self._shared, False
        self._shared = Shared(self._make_backend(self.kind, self.settings.settings))
        return self._shared, True

    def _made(self, task: asyncio.Task[Place]) -> None:
        self._creating.discard(task)
        self._forget_cancelled()
        error = (
            SandboxDied(f"making a {self.kind} sandbox was cancelled")
            if task.cancelled()
            else task.exception()
        )
        if error is None:
            self._created += 1
            place = task.result()
            place.idle_since_s = self._clock()
            self._idle.append(place)
            self._changed()
        elif self._waiters:
            self._waiters.popleft().place.set_exception(error)
        elif not task.cancelled():
            log.warning("no %s sandbox could be made ready: %s", self.kind, error)
            return  # nobody asked: trying again at once would only fail again
        self._serve()

    def _throw_away(self, place: Place, reason: str) -> None:
        self._died[reason] += 1
        self._in_background(self._close_place(place))

    async def _close_place(self, place: Place) -> None:
        try:
            await self._close_sandbox(place.sandbox)
        finally:
            self._leave(place.shared)

    async def _close_sandbox(self, sandbox: Sandbox) -> None:
        try:
            async with asyncio.timeout(self.settings.close_s):
                await sandbox.close()
        except (InfrastructureError, TimeoutError) as error:
            log.warning("sandbox %s did not close properly: %s", sandbox.id, error or "deadline passed")

    def _retire(self, shared: Shared) -> None:
        if shared.retired:
            return
        shared.retired = True
        if shared is self._shared:
            self._shared = None
        for place in [place for place in self._idle if place.shared is shared]:
            self._idle.remove(place)
            self._throw_away(place, "retired with its backend")
        if shared.users == 0 or not shared.backend.alive():
            self._close_shared(shared)

    def _leave(self, shared: Shared) -> None:
        shared.users -= 1
        if shared.retired and shared.users == 0:
            self._close_shared(shared)

    def _close_shared(self, shared: Shared) -> None:
        if not shared.closing:
            shared.closing = True
            self._in_background(self._close_backend(shared.backend))

    async def _close_backend(self, backend: Backend) -> None:
        try:
            async with asyncio.timeout(self.settings.close_s):
                await backend.close()
        except (InfrastructureError, TimeoutError) as error:
            log.warning("a %s backend did not close properly: %s", self.kind, error or "deadline passed")

    def _in_background(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing, name=f"close a {self.kind} sandbox")
        self._closing.add(task)
        task.add_done_callback(self._shut)

    def _shut(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("closing a %s sandbox failed", self.kind, exc_info=error)
        self._serve()
