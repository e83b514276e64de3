"""Makes the sandboxes of a pool on a backend that lives, and lets go of backends nothing stands on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.manager.records import Lost, PoolSettings
from deskhand_sandbox.types import JsonValue

log = logging.getLogger(__name__)

MakeBackend = Callable[[str, Mapping[str, JsonValue]], Backend]


@dataclass(eq=False, slots=True)
class Shared:
    """A backend and how many places stand on it: it is closed when it is retired and the last one is gone."""

    backend: Backend
    users: int = 0
    leases: int = 0
    """How often one of its sandboxes was lent."""
    retired: bool = False
    why: Lost = Lost.BACKEND_GONE
    """Why its sandboxes are not to be used again, once it is retired."""
    closing: bool = False


@dataclass(eq=False, slots=True)
class Place:
    """One sandbox of a pool."""

    sandbox: Sandbox
    shared: Shared
    owner: str = ""
    """Who has it on loan, or had it last."""
    idle_since_s: float = 0.0
    answered_s: float = 0.0
    """When it was last known to answer."""


class Maker:
    """The backend of one pool, replaced when it dies."""

    def __init__(
        self,
        kind: str,
        settings: PoolSettings,
        make_backend: MakeBackend,
        *,
        in_background: Callable[[Coroutine[None, None, None]], None],
        retired: Callable[[Shared], None],
    ) -> None:
        """
        Args:
            in_background: runs what closes.
            retired: told of a backend that nothing new is to stand on.
        """
        self._kind = kind
        self._settings = settings
        self._make_backend = make_backend
        self._in_background = in_background
        self._retired = retired
        self._shared: Shared | None = None

    async def make(self) -> Place:
        """A sandbox; on another backend when the one there is makes none any more.

        Raises:
            BackendMissing, InfrastructureError: it could not be made.
        """
        shared, fresh = self._current()
        try:
            return await self._make_on(shared)
        except BackendMissing:
            raise
        except InfrastructureError as error:
            self.retire(shared)
            if fresh:
                raise
            log.warning(
                "the %s backend makes no sandboxes any more (%s): starting another", self._kind, error
            )
        return await self._make_on(self._current()[0])

    def retire(self, shared: Shared, why: Lost = Lost.BACKEND_GONE) -> None:
        """Make nothing more on a backend; it is closed once nothing stands on it."""
        if shared.retired:
            return
        shared.retired, shared.why = True, why
        if shared is self._shared:
            self._shared = None
        self._retired(shared)
        if shared.users == 0 or not shared.backend.alive():
            self._close(shared)

    def leave(self, shared: Shared) -> None:
        """One place less stands on a backend."""
        shared.users -= 1
        if shared.retired and shared.users == 0:
            self._close(shared)

    def close(self) -> None:
        """Retire the backend there is."""
        if self._shared is not None:
            self.retire(self._shared)

    async def _make_on(self, shared: Shared) -> Place:
        shared.users += 1
        try:
            sandbox = await shared.backend.create()
        except BaseException:
            self.leave(shared)
            raise
        return Place(sandbox, shared)

    def _current(self) -> tuple[Shared, bool]:
        """The backend to make sandboxes on, and whether it was made just now."""
        if self._shared is not None and not self._shared.backend.alive():
            self.retire(self._shared)
        if self._shared is not None:
            return self._shared, False
        self._shared = Shared(self._make_backend(self._kind, self._settings.settings))
        return self._shared, True

    def _close(self, shared: Shared) -> None:
        if not shared.closing:
            shared.closing = True
            self._in_background(self._close_backend(shared.backend))

    async def _close_backend(self, backend: Backend) -> None:
        try:
            async with asyncio.timeout(self._settings.close_s):
                await backend.close()
        except (InfrastructureError, TimeoutError) as error:
            log.warning("a %s backend did not close properly: %s", self._kind, error or "deadline passed")
