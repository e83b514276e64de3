"""The sandboxes of one kind: made when asked for, handed out in order of asking, replaced when they die."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, LeaseUnavailable, SandboxDied, SandboxTimeout
from deskhand_sandbox.manager.making import MakeBackend, Maker, Place, Shared
from deskhand_sandbox.manager.metrics import Metrics
from deskhand_sandbox.manager.queue import FairQueue, Waiter
from deskhand_sandbox.manager.records import Lost, PoolSettings, PoolStatus

log = logging.getLogger(__name__)


class Pool:
    """Places of one kind. All but making and closing is synchronous: no state is ever half-changed."""

    def __init__(
        self,
        name: str,
        settings: PoolSettings,
        *,
        make_backend: MakeBackend,
        clock: Callable[[], float],
        starting: Callable[[], AbstractContextManager[None]],
        changed: Callable[[], None],
        metrics: Metrics,
    ) -> None:
        """
        Args:
            name: also the kind, unless the settings name one.
            starting: a block around every start of a sandbox: the journal looks out for new processes.
            changed: called when `next_deadline_s` may have changed by itself.
        """
        self.name = name
        self.kind = settings.kind or name
        self.settings = settings
        self.metrics = metrics
        self._maker = Maker(
            self.kind, settings, make_backend, in_background=self._in_background, retired=self._lose_idle
        )
        self._clock = clock
        self._starting = starting
        self._changed = changed
        self._idle: deque[Place] = deque()
        self._out: set[Place] = set()
        self._checking: set[asyncio.Task[None]] = set()
        self._queue: FairQueue[Place] = FairQueue(settings.owner_quota)
        self._creating: set[asyncio.Task[Place]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._created = 0
        self._lost: Counter[Lost] = Counter()
        self._closed = False

    # ---- taking and giving back ---------------------------------------------------------------------

    def has_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether its sandboxes are of the sort asked for."""
        return all(self.settings.labels.get(name) == value for name, value in labels.items())

    def backlog(self) -> float:
        """How many requests there are for each place, those being served included."""
        return (len(self._out) + len(self._queue)) / self.settings.max_sandboxes

    async def take(self, owner: str, wait_s: float) -> Place:
        """A place; who has fewest is served first.

        Raises:
            LeaseUnavailable: none became free within `wait_s`, or the pool is closing.
            BackendMissing, InfrastructureError: it could not be made.
        """
        self._refuse_when_closed()
        now_s = self._clock()
        waiter: Waiter[Place] = Waiter(owner, deadline_s=now_s + wait_s, wait_s=wait_s, asked_s=now_s)
        self._queue.add(waiter)
        self._serve()
        try:
            place = await waiter.place
            self.metrics.leased(self.kind, self._clock() - now_s)
            return place
        except asyncio.CancelledError:
            self._withdraw(waiter)
            raise

    def give_back(self, place: Place) -> None:
        """Take back a sandbox that can serve again: the next task's reset cleans it."""
        if place not in self._out:
            return  # the pool has closed
        self._out.remove(place)
        if place.shared.retired or not place.sandbox.alive():
            self._throw_away(place, place.shared.why if place.shared.retired else Lost.DIED_IDLE)
        else:
            place.idle_since_s = place.answered_s = self._clock()
            self._idle.append(place)
        self._serve()

    def discard(self, place: Place, reason: Lost) -> None:
        """Take back a sandbox that can serve no more; another is made when somebody asks."""
        if place not in self._out:
            return  # the pool has closed
        self._out.remove(place)
        self._throw_away(place, reason)
        if not place.shared.backend.alive():
            self._maker.retire(place.shared)
        self._serve()

    def close_extra(self, sandbox: Sandbox) -> None:
        """Close, in the background, a sandbox that was never a place: a fork of one."""
        self._in_background(self._close_sandbox(sandbox))

    # ---- time ---------------------------------------------------------------------------------------

    def reap(self, now_s: float) -> None:
        """Refuse who waited too long, close what was idle too long, see to what stays, keep the minimum
        ready."""
        self._queue.forget_cancelled()
        for waiter in self._unserved():
            if waiter.deadline_s <= now_s:
                self._queue.remove(waiter)
                waiter.place.set_exception(LeaseUnavailable(self._why_none(waiter)))
        spare = self._ready() - self.settings.min_sandboxes
        for place in sorted(self._idle, key=lambda each: each.idle_since_s)[: max(spare, 0)]:
            if place.idle_since_s + self.settings.idle_s <= now_s:
                self._idle.remove(place)
                self._throw_away(place, Lost.IDLE)
        for place in [each for each in self._idle if each.answered_s + self.settings.check_s <= now_s]:
            self._idle.remove(place)
            self._keep(asyncio.create_task(self._check(place)), self._checking)
        self._serve()

    def next_deadline_s(self) -> float:
        """When `reap` has something to do next; infinity when never."""
        times = [waiter.deadline_s for waiter in self._unserved()]
        times += [place.answered_s + self.settings.check_s for place in self._idle]
        if self._idle and self._ready() > self.settings.min_sandboxes:
            times.append(min(place.idle_since_s for place in self._idle) + self.settings.idle_s)
        return min(times, default=float("inf"))

    def status(self) -> PoolStatus:
        """The counters now."""
        return PoolStatus(
            name=self.name,
            kind=self.kind,
            labels=dict(self.settings.labels),
            max_sandboxes=self.settings.max_sandboxes,
            leased=len(self._out),
            idle=len(self._idle) + len(self._checking),
            creating=len(self._creating),
            closing=len(self._closing),
            queued=len(self._queue),
            created=self._created,
            lost=dict(self._lost),
        )

    async def close(self) -> None:
        """Refuse who waits, close every sandbox and every backend. Safe to call twice."""
        self._closed = True
        for waiter in list(self._queue):
            self._queue.remove(waiter)
            if not waiter.place.done():
                waiter.place.set_exception(LeaseUnavailable(f"the {self.name} pool is closing"))
        under_way = [*self._creating, *self._checking]
        for task in under_way:
            task.cancel()
        if under_way:
            _, stuck = await asyncio.wait(under_way, timeout=self.settings.close_s)
            for task in stuck:
                log.error("%s does not let itself be cancelled", task.get_name())
        for place in [*self._idle, *self._out]:
            self._throw_away(place, Lost.POOL_CLOSED)
        self._idle.clear()
        self._out.clear()
        self._maker.close()
        while self._closing:
            await asyncio.wait(self._closing)

    # ---- within -------------------------------------------------------------------------------------

    def _size(self) -> int:
        return self._ready() + len(self._closing)

    def _ready(self) -> int:
        return len(self._idle) + len(self._out) + self._coming()

    def _coming(self) -> int:
        return len(self._creating) + len(self._checking)

    def _order(self) -> list[Waiter[Place]]:
        return self._queue.order(Counter(place.owner for place in self._out))

    def _unserved(self) -> list[Waiter[Place]]:
        """Requests that no sandbox in the making is about to serve: making has a deadline of its own."""
        served = self._order()[: self._coming()]
        return [waiter for waiter in self._queue if waiter not in served]

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise LeaseUnavailable(f"the {self.name} pool is closed")

    def _why_none(self, waiter: Waiter[Place]) -> str:
        quota, has = self.settings.owner_quota, sum(place.owner == waiter.owner for place in self._out)
        if quota is not None and has >= quota:
            return (
                f"{waiter.owner} has {has} of the {self.kind} sandboxes, as many as one owner may have at "
                f"once, and gave none back within {waiter.wait_s:g} s; raise owner_quota or give one back"
            )
        return (
            f"no {self.kind} sandbox became free within {waiter.wait_s:g} s: {len(self._out)} of "
            f"{self.settings.max_sandboxes} are on loan and {len(self._queue)} more requests wait; raise "
            f"max_sandboxes or wait longer"
        )

    def _serve(self) -> None:
        """Hand idle sandboxes to who waits, then make as many as are still missing and fit."""
        self._queue.forget_cancelled()
        order = deque(self._order())
        while order and self._idle:
            place = self._idle.pop()  # the one used last is the warmest
            if not place.sandbox.alive():
                self._throw_away(place, Lost.DIED_IDLE)
                continue
            waiter = order.popleft()
            place.owner = waiter.owner
            self._out.add(place)
            self._queue.serve(waiter, place)
            place.shared.leases += 1
            if place.shared.leases == self.settings.leases_per_backend:
                self._maker.retire(place.shared, Lost.RENEWED)
        if self._closed:
            return
        missing = max(len(order) - self._coming(), self.settings.min_sandboxes - self._ready())
        for _ in range(min(missing, self.settings.max_sandboxes - self._size())):
            task = asyncio.create_task(self._make(), name=f"make a {self.kind} sandbox")
            self._creating.add(task)
            task.add_done_callback(self._made)

    def _withdraw(self, waiter: Waiter[Place]) -> None:
        if self._queue.remove(waiter) or not waiter.place.done() or waiter.place.cancelled():
            return
        if waiter.place.exception() is None:  # it came in the very moment the request was cancelled
            self.give_back(waiter.place.result())

    async def _check(self, place: Place) -> None:
        """Have an idle sandbox give a sign of life; throw it away when it gives none."""
        try:
            async with asyncio.timeout(self.settings.check_deadline_s):
                await place.sandbox.ping()
        except (InfrastructureError, TimeoutError) as error:
            log.warning("idle sandbox %s does not answer: %s", place.sandbox.id, error or "deadline passed")
            self._throw_away(place, Lost.DIED_IDLE)
        except BaseException:
            self._throw_away(place, Lost.POOL_CLOSED)
            raise
        else:
            place.answered_s = self._clock()
            self._idle.appendleft(place)  # it was idle for long: the last to be lent, the first to be closed

    async def _make(self) -> Place:
        began_s = self._clock()
        try:
            async with asyncio.timeout(self.settings.create_s):
                with self._starting():
                    place = await self._maker.make()
            self.metrics.created(self.kind, self._clock() - began_s)
            return place
        except TimeoutError as error:
            raise SandboxTimeout(
                f"making a {self.kind} sandbox took longer than {self.settings.create_s:g} s"
            ) from error

    def _made(self, task: asyncio.Task[Place]) -> None:
        self._creating.discard(task)
        self._queue.forget_cancelled()
        error = (
            SandboxDied(f"making a {self.kind} sandbox was cancelled")
            if task.cancelled()
            else task.exception()
        )
        if error is None:
            self._created += 1
            place = task.result()
            if self._closed:
                self._throw_away(place, Lost.POOL_CLOSED)
                return
            place.idle_since_s = place.answered_s = self._clock()
            self._idle.append(place)
            self._changed()
        elif order := self._order():
            self._queue.remove(order[0])
            order[0].place.set_exception(error)
        elif not task.cancelled():
            log.warning("no %s sandbox could be made ready: %s", self.kind, error)
            return  # nobody asked: trying again at once would only fail again
        self._serve()

    def _throw_away(self, place: Place, reason: Lost) -> None:
        self._lost[reason] += 1
        self.metrics.lost(self.kind, reason)
        self._in_background(self._close_place(place))

    async def _close_place(self, place: Place) -> None:
        try:
            await self._close_sandbox(place.sandbox)
        finally:
            self._maker.leave(place.shared)

    async def _close_sandbox(self, sandbox: Sandbox) -> None:
        try:
            async with asyncio.timeout(self.settings.close_s):
                await sandbox.close()
        except (InfrastructureError, TimeoutError) as error:
            log.warning("sandbox %s did not close properly: %s", sandbox.id, error or "deadline passed")

    def _lose_idle(self, shared: Shared) -> None:
        """Throw away the idle places that stand on a backend."""
        for place in [place for place in self._idle if place.shared is shared]:
            self._idle.remove(place)
            self._throw_away(place, shared.why)

    def _in_background(self, closing: Coroutine[None, None, None]) -> None:
        self._keep(asyncio.create_task(closing, name=f"close a {self.kind} sandbox"), self._closing)

    def _keep(self, task: asyncio.Task[None], among: set[asyncio.Task[None]]) -> None:
        """Remember a task until it is done, and serve who waits then."""

        def done(task: asyncio.Task[None]) -> None:
            among.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("%s failed", task.get_name(), exc_info=error)
            self._changed()
            self._serve()

        among.add(task)
        task.add_done_callback(done)
