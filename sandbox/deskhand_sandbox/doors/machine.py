"""One sandbox for a caller that does not await: made when needed, replaced when broken, closed in the end."""

from __future__ import annotations

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.doors.loop_thread import LoopThread


class Machine:
    """The loop, the backend and its one sandbox."""

    def __init__(self, backend: Backend, owned: bool) -> None:
        """
        Args:
            owned: the backend is closed with the machine.
        """
        self.loop = LoopThread("deskhand-gymnasium")
        self.broken = False
        """Set when the sandbox is not to be used again."""
        self._backend, self._owned = backend, owned
        self._sandbox: Sandbox | None = None
        self._closed = False

    async def sandbox(self) -> Sandbox:
        """The sandbox, a fresh one where there is none that works."""
        if self._sandbox is not None and (self.broken or not self._sandbox.alive()):
            await self.drop()
        if self._sandbox is None:
            self._sandbox = await self._backend.create()
        self.broken = False
        return self._sandbox

    async def drop(self) -> None:
        """Let go of the sandbox."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.close()

    def close(self) -> None:
        """Let go of everything."""
        if self._closed:
            return
        self._closed = True
        try:
            self.loop.run(self._close(), limit_s=Deadlines().reset_s)
        finally:
            self.loop.stop()

    async def _close(self) -> None:
        try:
            await self.drop()
        finally:
            if self._owned:
                await self._backend.close()
