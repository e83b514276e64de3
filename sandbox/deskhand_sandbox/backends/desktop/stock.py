"""Desktops made ready before anybody asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

from deskhand_sandbox.backends.desktop.session import Session
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.isolation import Limits

log = logging.getLogger(__name__)


class Stock:
    """Sessions on which nothing was done, of the size last asked for; each is handed out once.

    They are made from the second time on that one is needed: who needs one desktop never pays for two.
    """

    def __init__(self, spares: int, limits: Limits) -> None:
        """
        Args:
            spares: how many wait ready; with 0 every session is started when it is asked for.
        """
        self._spares = spares
        self._limits = limits
        self._size_px: tuple[int, int] | None = None
        self._ready: list[Session] = []
        self._filling: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def take(self, size_px: tuple[int, int]) -> Session:
        """A session of that size; the stock is filled up behind it.

        Raises:
            SandboxDied: it did not start; says why.
        """
        again, self._size_px = size_px == self._size_px, size_px
        if not again:
            self._drop(self._ready)
            self._ready = []
        self._drop([session for session in self._ready if session.ended])
        self._ready = [session for session in self._ready if not session.ended]
        session = self._ready.pop(0) if self._ready else await Session.start(size_px, self._limits)
        if again and not self._closed and not self.busy:
            self._filling = asyncio.create_task(self._fill(), name="make desktops ready")
        return session

    @property
    def ready(self) -> tuple[Session, ...]:
        """What waits to be taken."""
        return tuple(self._ready)

    @property
    def busy(self) -> bool:
        """Sessions are being made ready."""
        return self._filling is not None and not self._filling.done()

    async def close(self) -> None:
        """End what waits ready. Safe to call twice."""
        self._closed = True
        if self._filling is not None:
            await asyncio.wait([self._filling])
        self._drop(self._ready)
        self._ready = []
        while self._closing:
            await asyncio.wait(self._closing)

    async def _fill(self) -> None:
        while not self._closed and self._size_px is not None and len(self._ready) < self._spares:
            size_px = self._size_px
            try:
                session = await Session.start(size_px, self._limits)
            except InfrastructureError as error:
                log.warning("no desktop could be made ready: %s", error)
                return
            if self._closed or size_px != self._size_px:
                await session.close()
            else:
                self._ready.append(session)

    def _drop(self, sessions: list[Session]) -> None:
        for session in sessions:
            self._in_background(session.close())

    def _in_background(self, closing: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(closing, name="close a desktop")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
