"""Where the work of a job is done: a store, and sandboxes where it needs some."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from deskhand_flywheel.store import Store
from deskhand_sandbox.manager import Lending

if TYPE_CHECKING:
    from deskhand_sandbox.base import SandboxSource

TOKEN_VARIABLE = "DESKHAND_SANDBOX_TOKEN"
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Told what is counted, how many of it are done, and of how many (None: not known yet)."""
Outcome: TypeAlias = dict[str, Any]
"""As JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the work is done."""

    store_url: str
    blobs_url: str
    home: Path
    sandbox_url: str | None = None
    """Of a sandbox host, whose token is in `TOKEN_VARIABLE`; None: sandboxes of this process's own."""
    lending: Lending = field(default_factory=Lending)
    """How sandboxes of this process's own are opened."""

    @asynccontextmanager
    async def store(self) -> AsyncGenerator[Store]:
        """The store, closed afterwards.

        Raises:
            StoreUnavailable, StoreTooNew, CorruptStore, StorageFull: as `Store.open`.
        """
        async with await Store.open(self.store_url, self.blobs_url) as store:
            yield store

    @asynccontextmanager
    async def sandboxes(self, most: int) -> AsyncGenerator[SandboxSource]:
        """Sandboxes of every kind.

        Args:
            most: of one kind at a time, where they are one's own and no pool says otherwise.

        Raises:
            InvalidPool: a backend refuses the settings of a pool.
        """
        from deskhand_sandbox.host import SandboxClient
        from deskhand_sandbox.manager import SandboxManager
        from deskhand_sandbox.registry import backend_kinds

        if self.sandbox_url is not None:
            async with SandboxClient(self.sandbox_url, os.environ.get(TOKEN_VARIABLE, "")) as client:
                yield client
            return
        told = self.lending
        pools = told.pools_of(backend_kinds(), most=most)
        async with SandboxManager(pools, terms=told.terms, deadlines=told.deadlines) as source:
            yield source
