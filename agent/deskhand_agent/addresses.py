"""Addresses of servers, as settings and runs name them."""

from __future__ import annotations

import httpx


def names_a_server(url: str) -> bool:
    """Whether it is the address of a server, http or https, that can be connected to."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    port = address.port
    return address.scheme in ("http", "https") and bool(address.host) and (port is None or 0 < port < 2**16)
