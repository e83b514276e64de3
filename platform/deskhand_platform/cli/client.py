"""The platform over HTTP, for commands that need one that runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from deskhand_platform.auth import read_token
from deskhand_platform.errors import NotServing, Unauthorized
from deskhand_platform.lock import serving
from deskhand_platform.settings import Settings


class ApiError(Exception):
    """The platform refused; the message is its own sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Calls of one platform."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def get(self, path: str, **query: Any) -> Any:
        """GET, decoded."""
        return await self._call("GET", path, params={k: v for k, v in query.items() if v is not None})

    async def post(self, path: str, body: Any = None) -> Any:
        """POST, decoded."""
        return await self._call("POST", path, json=body)

    async def put(self, path: str, body: Any = None) -> Any:
        """PUT, decoded."""
        return await self._call("PUT", path, json=body)

    async def delete(self, path: str) -> Any:
        """DELETE, decoded; None where the platform answers with nothing."""
        return await self._call("DELETE", path)

    async def _call(self, method: str, path: str, **more: Any) -> Any:
        try:
            response = await self._http.request(method, path, **more)
        except httpx.ConnectError as error:
            raise NotServing(
                f"no platform answers at {self._http.base_url}; start one with `deskhand serve`"
            ) from error
        if response.is_error:
            raise ApiError(response.status_code, _sentence(response))
        return response.json() if response.content else None


def _sentence(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the platform answered {response.status_code}"


@asynccontextmanager
async def connect(settings: Settings, url: str | None = None) -> AsyncGenerator[Client]:
    """A client of the platform at `url`, else of the configured one, else of the one that serves this home.

    Raises:
        NotServing: nobody serves this home.
        Unauthorized: there is no token to show.
    """
    url = url or settings.url or _own(settings)
    token = read_token(settings.home)
    if token is None:
        raise Unauthorized(f"there is no token in {settings.home}; set DESKHAND_TOKEN to the platform's")
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30.0, trust_env=False) as http:
        yield Client(http)


def _own(settings: Settings) -> str:
    found = serving(settings.home)
    if found is None or found.url is None:
        raise NotServing(f"no platform serves {settings.home}; start one with `deskhand serve`")
    return found.url
