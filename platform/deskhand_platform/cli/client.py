"""The platform that a command speaks to: on this machine or another, always by the published client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, TypeVar

import typer

from deskhand_platform.client import AsyncDeskhand as Client
from deskhand_platform.settings import Settings, load_settings

__all__ = [
    "FOLLOWING_S",
    "Client",
    "HereUrl",
    "HomeUrl",
    "Url",
    "WorkUrl",
    "asked",
    "connect",
    "first",
    "looked_up",
    "reached",
]

T = TypeVar("T")

PATIENCE_S = 3.0
"""A person waits: what does not answer by then is said."""
FOLLOWING_S = 60.0
"""The same once work is followed, which goes on while its platform is started anew."""
Url = Annotated[
    str | None,
    typer.Option("--url", help="the platform's address; DESKHAND_URL, or this home's own, when not given"),
]
HomeUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="a platform's address, with its token in DESKHAND_TOKEN; DESKHAND_URL, or this home's own "
        "records, served or not, when not given",
    ),
]
WorkUrl = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="address of a platform that does it; DESKHAND_URL's, or here, served or not, when not given",
    ),
]
HereUrl = Annotated[str | None, typer.Option("--url", help="a platform's; this machine's own when not given")]


def connect(settings: Settings, url: str | None = None, *, patience_s: float = PATIENCE_S) -> Client:
    """A client of the platform at `url`, else of the configured one, else of the one that serves this home.

    Args:
        patience_s: no call is sent again so long after the first time.

    Raises:
        InvalidField: the address is none.
        NotServing: nobody serves this home.
        Unauthorized: there is no token to show.
    """
    return Client(url or settings.url, home=settings.home, patience_s=patience_s)


@asynccontextmanager
async def reached(url: str | None = None, *, first_admin: bool = False) -> AsyncGenerator[Client]:
    """A client of the platform at `url`, else of the configured one, else of this home, served or not.

    Args:
        first_admin: make one of this home's where it has none, and say how they come in.

    Raises:
        InvalidField: the address is none.
        Unauthorized: there is no token to show to another machine's.
        StoreUnavailable, StoreTooNew, CorruptStore, StorageFull: as `Store.open`, of this home's.
    """
    settings = load_settings()
    if url or settings.url:
        async with connect(settings, url) as client:
            yield client
        return
    # the whole API and its database, which a platform that is asked over the network has by itself
    from deskhand_platform.cli.unserved import answered_here

    async with (
        answered_here(settings, first_admin=first_admin) as transport,
        Client("http://localhost", "not asked for", patience_s=PATIENCE_S, transport=transport) as client,
    ):
        yield client


def asked(work: Callable[[Client], Awaitable[T]], url: str | None, *, patience_s: float = PATIENCE_S) -> T:
    """What one call of the platform that `connect` finds comes to.

    Args:
        patience_s: as `connect`.

    Raises:
        InvalidField, NotServing, Unauthorized, ClientError: as `connect` and the call.
    """

    async def opened() -> T:
        async with connect(load_settings(), url, patience_s=patience_s) as client:
            return await work(client)

    return asyncio.run(opened())


def looked_up(work: Callable[[Client], Awaitable[T]], url: str | None, *, first_admin: bool = False) -> T:
    """The same of what `reached` finds: this home's records too, served or not.

    Raises:
        As `reached`, and ClientError.
    """

    async def opened() -> T:
        async with reached(url, first_admin=first_admin) as client:
            return await work(client)

    return asyncio.run(opened())


async def first(found: AsyncIterator[T], limit: int) -> list[T]:
    """The first of a list, `limit` at most; no page beyond theirs is asked for."""
    kept: list[T] = []
    async for one in found:
        kept.append(one)
        if len(kept) == limit:
            break
    return kept
