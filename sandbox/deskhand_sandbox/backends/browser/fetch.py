"""Asks a web address beside the pages, where the network policy of the task lets it."""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin, urlsplit

import httpx

from deskhand_sandbox.backends.browser.network import Policy
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Fetch

FETCH_S = 15.0
ANSWER_BYTES = 64 * 1024
"""Of an answer its beginning is told, no more than this."""
REDIRECTS = 5


async def fetch(action: Fetch, policy: Policy) -> str:
    """Status and text of the answer, redirects followed as far as the policy goes.

    Raises:
        InvalidAction: no web address, one the policy does not allow, or nobody answers there.
    """
    url, method, body = action.url.strip(), action.method, action.body
    try:
        async with (
            asyncio.timeout(FETCH_S),
            httpx.AsyncClient(timeout=FETCH_S, trust_env=not policy.restricts) as client,
        ):
            for _ in range(REDIRECTS + 1):
                request = _request(client, url, method, body, action, policy)
                answer = await client.send(request, stream=True)
                try:
                    if not answer.has_redirect_location:
                        return await _told(answer)
                    url = urljoin(url, answer.headers["Location"])
                    if answer.status_code not in (307, 308) and method != "HEAD":
                        method, body = "GET", ""
                finally:
                    await answer.aclose()
    except TimeoutError:
        raise InvalidAction(f"{action.url} did not answer within {FETCH_S:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise InvalidAction(f"{action.url} cannot be fetched: {error or type(error).__name__}") from error
    raise InvalidAction(f"{action.url} leads from address to address, more than {REDIRECTS} times")


def _request(
    client: httpx.AsyncClient, url: str, method: str, body: str, action: Fetch, policy: Policy
) -> httpx.Request:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidAction(f"{url!r} cannot be fetched: a web address starts with http:// or https://")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not policy.allows(parts.hostname, port):
        raise InvalidAction(f"the network policy does not allow {parts.hostname}:{port}")
    headers = dict(action.headers)
    place = policy.place(parts.hostname, port)
    if place != (parts.hostname, port):
        headers["Host"] = parts.netloc
        url = parts._replace(netloc=f"{place[0]}:{place[1]}").geturl()
    return client.build_request(method, url, headers=headers, content=body.encode() if body else None)


async def _told(answer: httpx.Response) -> str:
    data = bytearray()
    async for chunk in answer.aiter_bytes():
        data += chunk
        if len(data) > ANSWER_BYTES:
            break
    text = data[:ANSWER_BYTES].decode(answer.charset_encoding or "utf-8", errors="replace")
    cut = f"\n[cut after {ANSWER_BYTES} bytes]" if len(data) > ANSWER_BYTES else ""
    return f"{answer.status_code} {answer.reason_phrase}\n{text}{cut}"
