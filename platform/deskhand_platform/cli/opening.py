"""The store of this home, opened for one command."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from deskhand_flywheel.store import Store
from deskhand_platform.settings import load_settings


@asynccontextmanager
async def opened_store() -> AsyncGenerator[Store]:
    """The store that the settings name, closed afterwards.

    Raises:
        StoreUnavailable, StoreTooNew, CorruptStore, StorageFull: as `Store.open`.
    """
    settings = load_settings()
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        yield store
