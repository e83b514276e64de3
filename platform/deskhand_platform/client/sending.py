"""One call over HTTP: its body as it goes, its answer as it comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, closing
from typing import Any

import httpx

from deskhand_platform.client.flows import Call


def sent_now(http: httpx.Client, call: Call[Any]) -> httpx.Response:
    """
    Raises:
        httpx.TransportError: there is no whole answer; some of it may be in `call.into`.
    """
    request = _request(http, call, None if call.content is None else call.content())
    if call.into is None:
        return http.send(request)
    with closing(http.send(request, stream=True)) as response:
        if response.is_error:
            response.read()
            return response
        with call.into.open("wb") as file:
            for piece in response.iter_bytes():
                file.write(piece)
    return response


async def sent(http: httpx.AsyncClient, call: Call[Any]) -> httpx.Response:
    """
    Raises:
        httpx.TransportError: there is no whole answer; some of it may be in `call.into`.
    """
    request = _request(http, call, None if call.content is None else _awaited(call.content()))
    if call.into is None:
        return await http.send(request)
    async with aclosing(await http.send(request, stream=True)) as response:
        if response.is_error:
            await response.aread()
            return response
        with call.into.open("wb") as file:
            async for piece in response.aiter_bytes():
                await asyncio.to_thread(file.write, piece)
    return response


def _request(http: httpx.Client | httpx.AsyncClient, call: Call[Any], content: Any) -> httpx.Request:
    headers = None
    if content is None and call.body is not None:
        # escaped: a text may hold half a surrogate pair, which UTF-8 has no bytes for
        content, headers = json.dumps(call.body), {"Content-Type": "application/json"}
    request = http.build_request(call.method, call.path, params=call.params, content=content, headers=headers)
    if call.timeout_s is not None:
        request.extensions["timeout"] = {**request.extensions["timeout"], "read": call.timeout_s}
    return request


async def _awaited(pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
