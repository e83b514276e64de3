"""This home's API for one command, whether the home is served or not.

Kept by itself: it takes the whole API and its database to load, which a command to a platform elsewhere does
without.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from getpass import getuser
from typing import Any

import httpx
from starlette.requests import HTTPConnection

from deskhand_platform.accounts.access import ROLES, Principal, Role
from deskhand_platform.accounts.opening import accounts_of, open_accounts
from deskhand_platform.api.app import create_app
from deskhand_platform.api.deps import admit
from deskhand_platform.auth import OWNER
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.cli.serve import welcome
from deskhand_platform.errors import NotServing
from deskhand_platform.serving import services_over
from deskhand_platform.settings import Settings

HERE = "command line"
"""Where the audit log says that such requests came from."""


@asynccontextmanager
async def answered_here(settings: Settings, *, first_admin: bool) -> AsyncGenerator[httpx.AsyncBaseTransport]:
    """This home's API without a network or a token, whether the home is served or not.

    Whoever may read the home's database administers it: this is also the way back in for an administrator
    who has lost the password.

    Args:
        first_admin: make one where there is none, and say how they come in.

    Raises:
        StoreUnavailable, StoreTooNew, CorruptStore, StorageFull: as `Store.open`.
    """
    async with opened_store() as store:
        first = (await open_accounts(store.database, settings))[1] if first_admin else None
        if first is not None:
            welcome(first)
        accounts = await accounts_of(store.database, settings)
        nobody: Any = _Unserved()
        app = create_app(services_over(settings, store, accounts, rounds=nobody, hosting=nobody))
        app.dependency_overrides[admit] = _whoever_sits_here
        yield httpx.ASGITransport(app, client=(HERE, 0))


class _Unserved:
    """Stands for what only a platform that runs has: rounds under way, and a sandbox host."""

    host_state = "down"

    def __getattr__(self, name: str) -> Any:
        raise NotServing(f"{name} needs a platform that runs; start one with `deskhand serve`")


async def _whoever_sits_here(connection: HTTPConnection) -> Principal:
    connection.state.who = _person()
    return Principal(name=OWNER, role=Role.ADMIN, scopes=ROLES[Role.ADMIN], token_id=None)


def _person() -> str:
    """Who sits at this machine; not a name of the platform's."""
    try:
        return f"{getuser()}@here"
    except (OSError, KeyError):
        return "somebody@here"
