"""Where a webhook may be: nothing the platform sends may reach what only this machine or its network reaches.

An address is checked when it is used, and the connection goes to the very address that was checked: a name
that leads elsewhere a moment later (DNS rebinding) leads nowhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import httpx

from deskhand_platform.client.address import LAST_PORT
from deskhand_platform.errors import InvalidField

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
EXAMPLE = "e.g. https://example.com/hooks/deskhand"


class Refused(Exception):
    """Nothing is sent there; says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """Where one request goes."""

    url: httpx.URL
    """With the address that was checked in the place of its name."""
    host: str
    """What the request says it is for."""
    name: str
    """What the certificate has to be of."""


def checked_url(url: str) -> httpx.URL:
    """A webhook's URL.

    Raises:
        InvalidField: it is none that can be sent to.
    """
    try:
        parsed = httpx.URL(url)
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidField("url", f"{error}; {EXAMPLE}") from error
    if parsed.scheme not in ("http", "https") or not host:
        raise InvalidField("url", f"has to begin with http:// or https:// and a host; {EXAMPLE}")
    if parsed.port is not None and not 1 <= parsed.port <= LAST_PORT:
        raise InvalidField("url", f"has a port from 1 to {LAST_PORT}; {EXAMPLE}")
    if parsed.userinfo:
        raise InvalidField("url", f"must hold no user or password: it is kept and shown; {EXAMPLE}")
    return parsed


async def resolve(url: str, networks: Sequence[Network]) -> Destination:
    """Where a request to a webhook goes now.

    Raises:
        Refused: its host is unknown, or all its addresses are in networks nothing is sent into; it does not
            say which, for that tells of the inner network.
    """
    parsed = checked_url(url)
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(parsed.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Refused(f"the host {parsed.host!r} is unknown: {error}") from error
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    open_ones = [each for each in addresses if reachable(each, networks)]
    if not open_ones:
        raise Refused(
            f"{parsed.host} is at no public address; the setting webhooks.networks allows more, "
            'e.g. ["10.1.0.0/16"]'
        )
    return Destination(
        url=parsed.copy_with(host=str(open_ones[0])),
        host=parsed.netloc.decode("ascii"),
        name=parsed.raw_host.decode("ascii"),
    )


def reachable(address: Address, networks: Sequence[Network]) -> bool:
    """Whether anything may be sent to an address."""
    inner = _carried(address)
    if any(inner in network for network in networks if network.version == inner.version):
        return True
    return inner.is_global and not inner.is_multicast


def _carried(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address
