"""Nobody else's page acts with a person's cookie: what changes something says that our page sent it."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request

from deskhand_platform.errors import Forbidden

READS = ("GET", "HEAD", "OPTIONS")
PAGE_HEADER = "X-Deskhand-Page"
"""Other sites' scripts cannot set it without asking first, and are not answered."""


def refuse_other_sites(request: Request) -> None:
    """For a request that came with a cookie.

    Raises:
        Forbidden: it would change something, and our own page did not send it.
    """
    if request.method in READS:
        return
    if PAGE_HEADER not in request.headers:
        raise Forbidden(f"with a cookie, what changes something needs the header {PAGE_HEADER}: 1")
    refuse_other_origin(request)


def refuse_other_origin(request: Request) -> None:
    """For a request that may have no cookie yet; programs send no origin.

    Raises:
        Forbidden: a page of another origin sent it.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise Forbidden(f"a page of {origin} sent this, which is another site")
