"""Under which names the platform answers: another site's page must not reach it by a name of its own."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from deskhand_platform.api import errors
from deskhand_platform.settings import Settings

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def answered(settings: Settings) -> frozenset[str] | None:
    """Names and addresses, in small letters; None: any."""
    if settings.host in ("0.0.0.0", "::"):
        return None
    return LOOPBACK | {settings.host.lower(), *(name.lower() for name in settings.hosts)}


class KnownHosts:
    """Middleware. Answers 400 where the `Host` of a request is none of the names (DNS rebinding)."""

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:
        self._app, self._names = app, frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            name = _without_port(Headers(scope=scope).get("host", ""))
            if name not in self._names:
                said = f"{name or 'no name'} is no name of this platform; list it in the setting hosts"
                await errors.answer(400, "unknown_host", said)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _without_port(host: str) -> str:
    if host.startswith("["):  # an IPv6 address
        return host[1:].partition("]")[0].lower()
    return host.lower() if host.count(":") > 1 else host.partition(":")[0].lower()
