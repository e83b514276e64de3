"""Where hosts stand: in the internet, on this machine, or in a network near by."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools.policy import Policy

LOOPBACK = ("127.0.0.1", "::1")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_METADATA = ipaddress.ip_address("fd00:ec2::254")
"""Amazon's, which is not link-local."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


async def places(host: str, port: int, policy: Policy, *, relayed: bool = False) -> list[tuple[str, int]]:
    """Where to connect for a host that the policy allows, as it was found: addresses and a port.

    Args:
        relayed: a proxy of the environment connects, and looks the name up: what that leads to is its matter.

    Raises:
        InvalidAction: it stands near by, and the policy does not let it be reached there.
        OSError: nobody knows the host.
    """
    if host in policy.sites or policy.neighbours == "allow":
        return [policy.place(host, port)]
    own = written(host)
    if own is not None:
        found = own
    elif relayed:
        return [(host, port)]
    else:
        told = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        found = tuple(dict.fromkeys(str(each[4][0]) for each in told))
    listed = _listed(host, port, policy)
    for address in found:
        if why := _forbidden(address, listed=listed):
            raise InvalidAction(f"{host} is {address}, {why}")
    return [(address, port) for address in found]


def shut(host: str, port: int, policy: Policy) -> bool:
    """Whether a host may not be reached for where it stands, as far as the way it is written tells."""
    if host in policy.sites or policy.neighbours == "allow":
        return False
    listed = _listed(host, port, policy)
    return any(_forbidden(address, listed=listed) for address in written(host) or ())


def _listed(host: str, port: int, policy: Policy) -> bool:
    """Whether a host may stand near by; this machine is the same by all its names."""
    here = policy.neighbours == "named" and on_loopback(host) and any(map(on_loopback, policy.trusted))
    return here or policy.lists(host, port)


def _forbidden(address: str, *, listed: bool) -> str:
    """Why an address may not be reached; empty where it may."""
    if link_local(address):
        return "where cloud machines keep their secrets: nothing there is reached"
    if not far(address) and not listed:
        return (
            "on this machine or in a network of its own: such a place can be fetched from only where the "
            "network policy lists it by name"
        )
    return ""


def written(host: str) -> tuple[str, ...] | None:
    """The addresses a host is by the way it is written; None for a name that has to be looked up."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return LOOPBACK
    try:
        return (str(ipaddress.ip_address(name.partition("%")[0])),)
    except ValueError:
        return None


def on_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by the way it is written."""
    return all(_bare(each).is_loopback for each in written(host) or ("0.0.0.0",))


def far(address: str) -> bool:
    """Whether an IP address is one of the public internet, whatever it is wrapped in."""
    ip = _bare(address)
    return ip.is_global and not ip.is_multicast


def link_local(address: str) -> bool:
    """Whether an IP address is of the link alone, as those of cloud metadata are."""
    ip = _bare(address)
    return ip.is_link_local or ip == _METADATA


def way_out(url: str) -> str | None:
    """The HTTP proxy of the environment that asks this address; None: this machine does."""
    parts = urlsplit(url)
    if on_loopback(parts.hostname or "") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    proxy = f"http://{found}" if found and "://" not in found else found
    return proxy if proxy and urlsplit(proxy).scheme in ("http", "https") else None


def _bare(address: str) -> Address:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = inner or ip
    return ip
