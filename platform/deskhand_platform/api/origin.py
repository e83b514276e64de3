"""Nobody else's page acts with a person's cookie: what changes something says that our page sent it."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from deskhand_platform.errors import Forbidden

READS = ("GET", "HEAD", "OPTIONS")
PAGE_HEADER = "X-Deskhand-Page"
"""Other sites' scripts cannot set it without asking first, and are not answered."""


def refuse_other_sites(connection: HTTPConnection, hosts: Collection[str]) -> None:
    """For a request that came with a cookie; `refuse_other_origin`.

    Raises:
        Forbidden: it would change something, or is a WebSocket, and our own page did not send it.
    """
    method = connection.scope.get("method")  # None: a WebSocket, whose headers a page cannot choose
    if method in READS:
        return
    if method is not None and PAGE_HEADER not in connection.headers:
        raise Forbidden(f"with a cookie, what changes something needs the header {PAGE_HEADER}: 1")
    refuse_other_origin(connection, hosts)


def refuse_other_origin(connection: HTTPConnection, hosts: Collection[str]) -> None:
    """For a request that may have no cookie yet; programs send no origin.

    Args:
        hosts: the setting: names of ours that a proxy in front may have put another `Host` for.

    Raises:
        Forbidden: a page of another origin sent it.
    """
    origin = connection.headers.get("origin")
    if origin is None:
        return
    try:
        site = urlsplit(origin)
        named = (site.hostname or "") in {name.lower() for name in hosts}
        ours = named or site.netloc == connection.headers.get("host", "")
    except ValueError:  # an address that is none
        ours = False
    if not ours:
        raise Forbidden(
            f"a page of {origin} sent this, which is another site; behind a proxy, list the platform's own "
            "name in the setting hosts"
        )
