"""The store of this home, opened for one command."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from getpass import getuser

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.audit import Entry
from deskhand_platform.accounts.opening import Accounts, open_accounts
from deskhand_platform.cli.serve import welcome
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


@asynccontextmanager
async def opened_accounts(command: str | None = None, target: str = "") -> AsyncGenerator[Accounts]:
    """The accounts of this home; the first command for them makes its first administrator.

    Args:
        command: what is noted in the audit log when the block ends well; None: it changes nothing.
    """
    settings = load_settings()
    async with opened_store() as store:
        accounts, first = await open_accounts(store.database, settings)
        if first is not None:
            welcome(first)
        yield accounts
        if command is not None:
            entry = Entry(who=_person(), action=command, target=target, source="command line", status=200)
            await accounts.audit.write(entry)


def _person() -> str:
    """Who sits at this machine; not a name of the platform's."""
    try:
        return f"{getuser()}@here"
    except (OSError, KeyError):
        return "somebody@here"
