"""Guards the calls on one sandbox: one at a time, each with a deadline, and none after a failure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout

Diagnose = Callable[[InfrastructureError], Awaitable[SandboxDied | None]]
"""Whether a failure means that the computer is gone; None when it is not."""


class Calls:
    """The calls on one sandbox, from its start to its end.

    Once one has ended in SandboxDied or SandboxTimeout, every later one ends in the same.
    """

    def __init__(self, diagnose: Diagnose | None = None) -> None:
        """
        Args:
            diagnose: looks into failures that do not say themselves that the sandbox is lost.
        """
        self._diagnose = diagnose
        self._broken: InfrastructureError | None = None
        self._closed = False
        self._turn = asyncio.Lock()
        self._limit: asyncio.Timeout | None = None
        """Deadline of the call under way."""

    @property
    def usable(self) -> bool:
        """No call has failed for good, and nobody has closed the sandbox."""
        return self._broken is None and not self._closed

    @contextlib.asynccontextmanager
    async def call(self, what: str, deadline_s: float) -> AsyncGenerator[None]:
        """One call, after the one under way has ended; its deadline runs from then on.

        Raises:
            SandboxTimeout: it passed its deadline.
            SandboxDied: the computer is gone, or the sandbox was closed, before it or meanwhile.
        """
        async with self._turn:
            self._check_usable()
            try:
                async with asyncio.timeout(deadline_s) as self._limit:
                    yield
            except TimeoutError as error:
                self._broken = self._overdue(what, deadline_s)
                raise self._broken from error
            except (SandboxDied, SandboxTimeout) as error:
                self._broken = error
                raise
            except InfrastructureError as error:
                died = await self._diagnose(error) if self._diagnose is not None else None
                if died is None:
                    raise
                self._broken = died
                raise died from error
            finally:
                self._limit = None

    async def close(self) -> None:
        """Let no call begin any more, end the one under way, and wait until it has. Safe to call twice."""
        self._closed = True
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time())
        async with self._turn:
            return

    def _check_usable(self) -> None:
        if self._broken is not None:
            raise type(self._broken)(f"{self._broken} (the sandbox is not to be used again)")
        if self._closed:
            raise SandboxDied("the sandbox is closed")

    def _overdue(self, what: str, deadline_s: float) -> InfrastructureError:
        if self._closed:
            return SandboxDied(f"the sandbox was closed during {what}")
        return SandboxTimeout(f"{what} took longer than {deadline_s:g} s")
