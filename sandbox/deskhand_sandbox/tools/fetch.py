"""Asks a web address on behalf of an agent, where the network policy of the task lets it.

The machine that hosts the sandbox asks, not the sandbox itself: so each address, those of redirects too, is
looked up once, compared with the policy, and connected to as it was found.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

import httpx

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools.addresses import places, way_out
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


async def fetch(action: Fetch, policy: Policy) -> str:
    """Status and text of the answer, redirects followed as far as the policy goes.

    Raises:
        InvalidAction: no web address, one the policy does not allow, or nobody answers there.
    """
    if own := sorted(name for name in action.headers if name.lower() in OWN_HEADERS):
        raise InvalidAction(f"the header {own[0]} follows from the address and the body: leave it out")
    url, method, body, headers = action.url.strip(), action.method, action.body, dict(action.headers)
    try:
        async with asyncio.timeout(FETCH_S):
            for _ in range(REDIRECTS + 1):
                proxy = None if policy.restricts else way_out(url)
                async with client_by(proxy, FETCH_S) as client:
                    answer = await ask(client, url, method, headers, body, policy, relayed=proxy is not None)
                    try:
                        if not answer.has_redirect_location:
                            return await _told(answer)
                        before, url = url, urljoin(url, answer.headers["Location"])
                    finally:
                        await answer.aclose()
                if answer.status_code not in (307, 308) and method != "HEAD":
                    method, body = "GET", ""
                if urlsplit(before)[:2] != urlsplit(url)[:2]:
                    headers = {name: each for name, each in headers.items() if not _secret(name)}
    except TimeoutError:
        raise InvalidAction(f"{action.url} did not answer within {FETCH_S:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        raise InvalidAction(f"{action.url} cannot be fetched: {why}") from error
    raise InvalidAction(f"{action.url} leads from address to address, more than {REDIRECTS} times")


def client_by(proxy: str | None, timeout: float | httpx.Timeout) -> httpx.AsyncClient:
    """Asks by a proxy, or itself where there is none."""
    # of the environment its certificates alone: its proxy was chosen with the policy, once
    return httpx.AsyncClient(timeout=timeout, verify=httpx.create_ssl_context(), trust_env=False, proxy=proxy)


async def ask(
    client: httpx.AsyncClient,
    url: str,
    method: str,
    headers: dict[str, str],
    body: str,
    policy: Policy,
    *,
    relayed: bool = False,
) -> httpx.Response:
    """The head of one answer, whatever it is.

    Args:
        relayed: the client asks by a proxy of the environment.

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
    found = await places(host, port, policy, relayed=relayed)
    for number, place in enumerate(found, start=1):
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
            if number == len(found):
                raise
    raise InvalidAction(f"{host} has no address")


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
