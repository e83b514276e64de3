"""How long work may take; its time stands still while it waits for a person, or for its turn at an endpoint's
rate limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class TimeLimit:
    """The seconds that some work has."""

    def __init__(self, seconds: float) -> None:
        self._ends_at_s = time.monotonic() + seconds
        self._timeout: asyncio.Timeout | None = None
        """What ends the work; None: it is not ended."""
        self._waiting = 0
        """How many of its requests wait for their turn."""
        self._waiting_since_s = 0.0
        self.extended_s = 0.0
        """By how much it has grown."""

    @property
    def remaining_s(self) -> float:
        """Negative once it is over."""
        return self._ends_at_s - (self._waiting_since_s if self._waiting else time.monotonic())

    def extend(self, seconds: float) -> None:
        """Give the work more time."""
        self._ends_at_s += seconds
        self.extended_s += seconds

    @contextmanager
    def running(self) -> Generator[None]:
        """What is done inside is its work, the tasks begun there too."""
        token = _RUNNING.set((*_RUNNING.get(), self))
        try:
            yield
        finally:
            _RUNNING.reset(token)

    @asynccontextmanager
    async def enforced(self) -> AsyncGenerator[None]:
        """Running, and cancelled when it is over.

        Raises:
            TimeoutError: it is.
        """
        with self.running():
            async with asyncio.timeout(self.remaining_s) as self._timeout:
                try:
                    yield
                finally:
                    self._timeout = None

    def stand_still(self) -> None:
        """A request begins to wait for its turn."""
        if not self._waiting:
            self._waiting_since_s = time.monotonic()
            self._ends_in(None)
        self._waiting += 1

    def go_on(self) -> None:
        """A request waits no more."""
        self._waiting -= 1
        if not self._waiting:
            self.extend(time.monotonic() - self._waiting_since_s)
            self._ends_in(self.remaining_s)

    def _ends_in(self, seconds: float | None) -> None:
        if self._timeout is not None and not self._timeout.expired():
            now_s = asyncio.get_running_loop().time()
            self._timeout.reschedule(None if seconds is None else now_s + seconds)


_RUNNING: ContextVar[tuple[TimeLimit, ...]] = ContextVar("_RUNNING", default=())


@contextmanager
def waiting_ones_turn() -> Generator[None]:
    """Every limit that the work inside belongs to stands still."""
    limits = _RUNNING.get()
    for limit in limits:
        limit.stand_still()
    try:
        yield
    finally:
        for limit in limits:
            limit.go_on()


async def within(seconds: float, work: Awaitable[T], error: Exception) -> T:
    """The result of `work`, or `error` once it has taken `seconds`."""
    try:
        async with TimeLimit(seconds).enforced():
            return await work
    except TimeoutError:
        raise error from None
