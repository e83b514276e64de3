"""Asks a web address on behalf of an agent, where the network policy of the task lets it.

The machine that hosts the sandbox asks, not the sandbox itself: so each address, those of redirects too, is
looked up once, compared with the policy, and connected to as it was found.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urljoin, urlsplit

import httpx

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools.policy import Policy
from deskhand_sandbox.types import Fetch

FETCH_S = 15.0
ANSWER_BYTES = 64 * 1024
"""Of an answer its beginning is told, no more than this."""
REDIRECTS = 5
OWN_HEADERS = frozenset({"connection", "content-length", "host", "transfer-encoding"})
"""What follows from the address and the body."""
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
"""What is meant for the place it was first sent to."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


async def fetch(action: Fetch, policy: Policy) -> str:
    """Status and text of the answer, redirects followed as far as the policy goes.

    Raises:
        InvalidAction: no web address, one the policy does not allow, or nobody answers there.
    """
    if own := sorted(name for name in action.headers if name.lower() in OWN_HEADERS):
        raise InvalidAction(f"the header {own[0]} follows from the address and the body: leave it out")
    url, method, body, headers = action.url.strip(), action.method, action.body, dict(action.headers)
    trusting = policy.neighbours and not policy.restricts
    try:
        async with (
            asyncio.timeout(FETCH_S),
            httpx.AsyncClient(timeout=FETCH_S, trust_env=trusting) as client,
        ):
            for _ in range(REDIRECTS + 1):
                answer = await ask(client, url, method, headers, body, policy)
                try:
                    if not answer.has_redirect_location:
                        return await _told(answer)
                    before, url = url, urljoin(url, answer.headers["Location"])
                    if answer.status_code not in (307, 308) and method != "HEAD":
                        method, body = "GET", ""
                    if urlsplit(before)[:2] != urlsplit(url)[:2]:
                        headers = {name: each for name, each in headers.items() if not _secret(name)}
                finally:
                    await answer.aclose()
    except TimeoutError:
        raise InvalidAction(f"{action.url} did not answer within {FETCH_S:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        raise InvalidAction(f"{action.url} cannot be fetched: {why}") from error
    raise InvalidAction(f"{action.url} leads from address to address, more than {REDIRECTS} times")


async def ask(
    client: httpx.AsyncClient, url: str, method: str, headers: dict[str, str], body: str, policy: Policy
) -> httpx.Response:
    """The head of one answer, whatever it is.

    Raises:
        InvalidAction: an address that is none, or is not to be asked.
        httpx.HTTPError: nobody answers at any of the host's addresses.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidAction(f"{url!r} cannot be fetched: a web address starts with http:// or https://")
    host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    if not policy.allows(host, port):
        raise InvalidAction(f"the network policy does not allow {host}:{port}")
    places = await _places(host, port, policy)
    for number, place in enumerate(places, start=1):
        target, sent, more = httpx.URL(url), dict(headers), dict[str, object]()
        if place != (host, port):
            sent["Host"] = parts.netloc.rpartition("@")[2]
            target = target.copy_with(host=place[0], port=place[1])
            more["sni_hostname"] = host
        request = client.build_request(
            method, target, headers=sent, content=body.encode() if body else None, extensions=more
        )
        try:
            return await client.send(request, stream=True)
        except httpx.ConnectError:
            if number == len(places):
                raise
    raise InvalidAction(f"{host} has no address")


async def _places(host: str, port: int, policy: Policy) -> list[tuple[str, int]]:
    """Where to connect for a host.

    Raises:
        InvalidAction: a place that has to be listed, and is not.
        OSError: nobody knows the host.
    """
    if policy.neighbours or policy.lists(host, port):
        return [policy.place(host, port)]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    if near := [each for each in addresses if not _far(each)]:
        raise InvalidAction(
            f"{host} is {near[0]}, on this machine or in a network of its own: such a place can be fetched "
            "from only where the network policy lists it by name"
        )
    return [(each, port) for each in dict.fromkeys(addresses)]


def _far(address: str) -> bool:
    """Whether an IP address is one of the public internet, whatever it is wrapped in."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        ip = inner or ip
    return ip.is_global and not ip.is_multicast


def _secret(name: str) -> bool:
    return name.lower() in SECRET_HEADERS


async def _told(answer: httpx.Response) -> str:
    data = bytearray()
    async for chunk in answer.aiter_bytes():
        data += chunk
        if len(data) > ANSWER_BYTES:
            break
    kept = bytes(data[:ANSWER_BYTES])
    try:
        text = kept.decode(answer.charset_encoding or "utf-8", errors="replace")
    except LookupError:  # a charset nobody knows
        text = kept.decode(errors="replace")
    cut = f"\n[cut after {ANSWER_BYTES} bytes]" if len(data) > ANSWER_BYTES else ""
    return f"{answer.status_code} {answer.reason_phrase}\n{text}{cut}"
