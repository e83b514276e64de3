"""The sandbox source of the worker's episodes."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from deskhand_sandbox import logs
from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import HostUnreachable, LeaseUnavailable, SandboxError
from deskhand_sandbox.host import SandboxClient
from deskhand_sandbox.manager.extras import PassesOn

log = logging.getLogger("deskhand_platform.worker")


class NoSandbox(Exception):
    """None was to be had for now, whatever the task: the host is away, or all of them are on loan.

    No error of the sandbox's own: nothing began that could have failed, and no episode tells of it.
    """


async def leased(source: SandboxSource | None) -> Counter[str]:
    """How many sandboxes of the host each owner has; nobody any where none answers."""
    if not isinstance(source, SandboxClient):
        return Counter()
    try:
        return Counter(lease.owner for lease in (await source.status()).leases)
    except SandboxError:
        return Counter()


class ToldSource:
    """A sandbox source whose loans stand in the log, and last as long as a person is there."""

    def __init__(self, source: SandboxSource) -> None:
        self._source = source
        self._lent: Sandbox | None = None

    async def renew(self) -> None:
        """The loan's time begins anew."""
        if isinstance(self._lent, PassesOn):
            with suppress(SandboxError):  # what is wrong with it, the episode says
                await self._lent.renew()

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Sandbox, None]:
        """A sandbox on loan; `SandboxSource.lease`.

        Raises:
            NoSandbox: none is to be had for now.
            SandboxError: as the source inside.
        """
        async with AsyncExitStack() as stack:
            loan = self._source.lease(kind, owner=owner, wait_s=wait_s, labels=labels)
            try:
                sandbox = await stack.enter_async_context(loan)
            except (HostUnreachable, LeaseUnavailable) as error:
                raise NoSandbox(str(error)) from error
            logs.note(sandbox=sandbox.id)
            log.info("a %s sandbox is lent", kind)
            self._lent = sandbox
            try:
                yield sandbox
            finally:
                self._lent = None
