"""What backends share whose sandboxes are objects of this process: there is nothing to start or to stop."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar
from weakref import WeakSet

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import SandboxDied

S = TypeVar("S", bound=Sandbox)


class InProcessBackend(Backend, Generic[S]):
    """See `Backend`. A sandbox that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self._made: WeakSet[S] = WeakSet()
        self._closed = False

    @abstractmethod
    def make(self) -> S:
        """A fresh sandbox."""

    async def create(self) -> S:
        """A fresh sandbox, ready for `reset`.

        Raises:
            SandboxDied: the backend is closed.
        """
        if self._closed:
            raise SandboxDied(f"the {self.kind} backend is closed")
        sandbox = self.make()
        self._made.add(sandbox)
        return sandbox

    async def close(self) -> None:
        self._closed = True
        for sandbox in list(self._made):
            await sandbox.close()
        self._made.clear()
