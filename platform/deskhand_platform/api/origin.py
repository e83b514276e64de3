"""Nobody else's page acts with a person's cookie: what changes something says that our page sent it."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from deskhand_platform.errors import Forbidden

READS = ("GET", "HEAD", "OPTIONS")
PAGE_HEADER = "X-Deskhand-Page"
"""Other sites' scripts cannot set it without asking first, and are not answered."""


def refuse_other_sites(connection: HTTPConnection) -> None:
    """For a request that came with a cookie.

    Raises:
        Forbidden: it would change something, or is a WebSocket, and our own page did not send it.
    """
    method = connection.scope.get("method")  # None: a WebSocket, whose headers a page cannot choose
    if method in READS:
        return
    if method is not None and PAGE_HEADER not in connection.headers:
        raise Forbidden(f"with a cookie, what changes something needs the header {PAGE_HEADER}: 1")
    refuse_other_origin(connection)


def refuse_other_origin(connection: HTTPConnection) -> None:
    """For a request that may have no cookie yet; programs send no origin.

    Raises:
        Forbidden: a page of another origin sent it.
    """
    origin = connection.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != connection.headers.get("host", ""):
        raise Forbidden(f"a page of {origin} sent this, which is another site")
