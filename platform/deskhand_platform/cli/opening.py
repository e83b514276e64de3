"""The store of this home, for a command that works in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from deskhand_platform.settings import load_settings

if TYPE_CHECKING:
    from deskhand_flywheel.store import Store


@asynccontextmanager
async def opened_store() -> AsyncGenerator[Store]:
    """The store that the settings name, closed afterwards.

    Raises:
        StoreUnavailable, StoreTooNew, CorruptStore, StorageFull: as `Store.open`.
    """
    from deskhand_flywheel.store import Store

    settings = load_settings()
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        yield store
