"""What of the network a task's pages may reach, held by a proxy that is a context's only way out.

Chromium sends everything a context asks for through it (documents, scripts, workers, service workers, web
sockets, redirects) but for our own sites; it looks names up itself, once, and opens nothing that the policy
does not allow. Where the environment has a proxy, and no rule forbids anything, that one asks in turn.
WebRTC, most of which would go past a proxy, is taken away from the pages, and the browser is started without
its UDP.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import html
from urllib.parse import SplitResult, unquote, urlsplit

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.tools.addresses import places, shut, way_out
from deskhand_sandbox.tools.policy import Policy

NO_WAY_PAST = "delete globalThis.RTCPeerConnection; delete globalThis.webkitRTCPeerConnection;"
"""Runs before a page's own scripts where there is a policy."""
HEAD_BYTES = 64 * 1024
HEAD_S = 30.0
CONNECT_S = 10.0
NEXT_S = 2.0
"""After which the next of a host's addresses is tried."""
SHOWN_HOSTS = 5
"""Blocked hosts an observation names."""


class PolicyProxy:
    """One context's way out. Made by `start`."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._blocked: dict[str, int] = {}

    @classmethod
    async def start(cls, policy: Policy) -> PolicyProxy:
        """A proxy on a loopback port of its own."""
        proxy = cls(policy)
        proxy._server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0, limit=HEAD_BYTES)
        return proxy

    @property
    def address(self) -> str:
        """For Chromium: http://127.0.0.1:PORT."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def refuses(self, url: str) -> str | None:
        """Host and port of an address that may not be opened; None when it may."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss"):
            return None
        host, port = parts.hostname or "", parts.port or _default_port(parts.scheme)
        refused = not self._policy.allows(host, port) or shut(host, port, self._policy)
        return f"{host}:{port}" if refused else None

    def block(self, where: str) -> None:
        """Count a request that was refused."""
        self._blocked[where] = self._blocked.get(where, 0) + 1

    def told(self) -> list[str]:
        """A line about what was refused since the last call; none when nothing was."""
        blocked, self._blocked = list(self._blocked), {}
        if not blocked:
            return []
        more = f" and {len(blocked) - SHOWN_HOSTS} more" if len(blocked) > SHOWN_HOSTS else ""
        return [f"[blocked by the network policy: {', '.join(blocked[:SHOWN_HOSTS])}{more}]"]

    async def close(self) -> None:
        """End every connection and give the port back."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
                await self._relay(reader, writer)
        except asyncio.LimitOverrunError:
            pass  # a request whose head is longer than any of a browser's
        except asyncio.CancelledError:
            # the context closes: asyncio's streams would report the cancellation as an error of theirs
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, _, fields = head.partition("\r\n")
        method, target, version = line.split(" ", 2)
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = (parts.hostname or ""), parts.port or _default_port(parts.scheme)
        if not self._policy.allows(host, port):
            self.block(f"{host}:{port}")
            return await _refuse(writer, f"{host}:{port}")
        scheme = "https" if method == "CONNECT" else "http"
        relay = None if self._policy.restricts else way_out(f"{scheme}://{parts.netloc}")
        upstream = None if relay is None else urlsplit(relay)
        try:
            async with asyncio.timeout(CONNECT_S):
                found = await places(host, port, self._policy, relayed=upstream is not None)
                far_reader, far_writer = await _opened(found, upstream)
        except InvalidAction:
            self.block(f"{host}:{port}")
            return await _refuse(writer, f"{host}:{port}")
        except (OSError, TimeoutError):
            return await _answer(writer, "502 Bad Gateway", f"{html.escape(host)} cannot be reached")
        try:
            if upstream is not None:
                asked = _closing(fields, closing=method != "CONNECT", credentials=_credentials(upstream))
                far_writer.write(f"{line}\r\n{asked}".encode("latin-1"))
            elif method == "CONNECT":
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
                far_writer.write(f"{method} {path} {version}\r\n{_closing(fields)}".encode("latin-1"))
            await _both_ways(reader, writer, far_reader, far_writer)
        finally:
            far_writer.close()
        return None


def blocked_page(where: str) -> str:
    """What a page that may not be opened shows."""
    return (
        "<!doctype html><title>Blocked</title><body style='font-family:sans-serif;margin:2em'>"
        f"<h1>Blocked</h1><p>The network policy of this sandbox does not allow {html.escape(where)}.</p>"
    )


async def _refuse(writer: asyncio.StreamWriter, where: str) -> None:
    await _answer(writer, "403 Forbidden", blocked_page(where))


async def _answer(writer: asyncio.StreamWriter, status: str, body: str) -> None:
    data = body.encode()
    writer.write(
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(data)}\r\n"
        "Connection: close\r\n\r\n".encode()
        + data
    )
    await writer.drain()


async def _both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Pass bytes until the far side has said all; the near side may stop talking before."""
    sending = asyncio.create_task(_pass(reader, far_writer))
    try:
        await _pass(far_reader, writer)
    finally:
        sending.cancel()
        await asyncio.wait([sending])


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()


async def _opened(
    found: list[tuple[str, int]], upstream: SplitResult | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first place that answers, or to the proxy that is asked for it.

    Raises:
        OSError: nobody answers.
    """
    if upstream is not None:
        tls = upstream.scheme == "https"
        return await asyncio.open_connection(
            upstream.hostname, upstream.port or (443 if tls else 80), ssl=tls or None
        )
    *others, last = found
    for place in others:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(NEXT_S):
                return await asyncio.open_connection(*place)
    return await asyncio.open_connection(*last)


def _credentials(upstream: SplitResult) -> str:
    """The header field that says who we are to a proxy; empty where its address names nobody."""
    if upstream.username is None:
        return ""
    name = f"{unquote(upstream.username)}:{unquote(upstream.password or '')}"
    return f"Proxy-Authorization: Basic {base64.b64encode(name.encode()).decode()}"


def _closing(fields: str, *, closing: bool = True, credentials: str = "") -> str:
    """Header fields for the far side: one request to a connection, nothing meant for us as a proxy.

    Args:
        credentials: a field for the proxy that is asked in turn.
    """
    added = [*([credentials] if credentials else []), *(["Connection: close"] if closing else [])]
    kept = [
        each
        for each in fields.split("\r\n")
        if each and not each.lower().startswith(("proxy-", "connection:", "keep-alive:"))
    ]
    return "\r\n".join([*kept, *added, "", ""])


def _default_port(scheme: str) -> int:
    return 443 if scheme in ("https", "wss", "") else 80
