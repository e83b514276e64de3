"""Desktops made ready before anybody asks."""

from __future__ import annotations

import asyncio
import logging

from deskhand_sandbox.backends.desktop.session import Session
from deskhand_sandbox.errors import InfrastructureError, SandboxDied
from deskhand_sandbox.isolation import Limits

log = logging.getLogger(__name__)


class Stock:
    """Sessions on which nothing was done, of the size last asked for; each is handed out once.

    They are made from the second time on that one is needed: who needs one desktop never pays for two.
    """

    def __init__(self, spares: int, limits: Limits, *, start_s: float = 60.0) -> None:
        """
        Args:
            spares: how many wait ready; with 0 every session is started when it is asked for.
            start_s: longest the start of one that nobody waits for may take.
        """
        self._spares = spares
        self._limits = limits
        self._start_s = start_s
        self._size_px: tuple[int, int] | None = None
        self._ready: list[Session] = []
        self._out: set[Session] = set()
        self._filling: asyncio.Task[None] | None = None
        self._dropping: set[asyncio.Task[None]] = set()
        self._closed = False

    async def take(self, size_px: tuple[int, int]) -> Session:
        """A session of that size, to be given back; the stock is filled up behind it.

        Raises:
            SandboxDied: it did not start, says why; or the stock is closed.
        """
        again, self._size_px = size_px == self._size_px, size_px
        usable = [session for session in self._ready if again and not session.ended]
        self._drop([session for session in self._ready if session not in usable])
        self._ready = usable
        session = self._ready.pop(0) if self._ready else await Session.start(size_px, self._limits)
        if self._closed:
            await session.close()
            raise SandboxDied("the desktop backend is closed")
        self._out.add(session)
        if again and not self.busy:
            self._filling = asyncio.create_task(self._fill(), name="make desktops ready")
        return session

    async def give_back(self, session: Session) -> None:
        """End a session that was taken."""
        try:
            await session.close()
        finally:
            self._out.discard(session)

    @property
    def size_px(self) -> tuple[int, int] | None:
        """The size last asked for; None before the first time."""
        return self._size_px

    @property
    def ready(self) -> tuple[Session, ...]:
        """What waits to be taken."""
        return tuple(self._ready)

    @property
    def busy(self) -> bool:
        """Sessions are being made ready."""
        return self._filling is not None and not self._filling.done()

    async def close(self) -> None:
        """End every session, those that were taken too. Safe to call twice."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait([self._filling])
        self._drop([*self._ready, *self._out])
        self._ready = []
        while self._dropping:
            await asyncio.wait(self._dropping)

    async def _fill(self) -> None:
        while not self._closed and self._size_px is not None and len(self._ready) < self._spares:
            size_px = self._size_px
            try:
                async with asyncio.timeout(self._start_s):
                    session = await Session.start(size_px, self._limits)
            except (InfrastructureError, TimeoutError) as error:
                log.warning("no desktop could be made ready: %s", error or "it took too long")
                return
            if size_px == self._size_px:
                self._ready.append(session)
            else:
                self._drop([session])

    def _drop(self, sessions: list[Session]) -> None:
        for session in sessions:
            task = asyncio.create_task(session.close(), name="close a desktop")
            self._dropping.add(task)
            task.add_done_callback(self._dropping.discard)
