"""A platform at an address: what carries a client's calls out, by awaiting or by blocking."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel

from deskhand_platform.api.models import Page
from deskhand_platform.client.address import find
from deskhand_platform.client.errors import ApiError, Unreachable, refusal
from deskhand_platform.client.flows import Answer, Call, Flow, Patience, Pause, exchange
from deskhand_platform.client.sending import sent, sent_now
from deskhand_platform.client.stream import EventReader, LineReader, StreamPatience

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
SILENCE_S = 30.0
"""A stream that sends nothing for so long, not even that it is there, is opened anew."""


class AsyncConnection:
    """Carries calls out by awaiting."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        timeout_s: float = 30.0,
        patience_s: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        Args:
            url: None: `DESKHAND_URL`, else the platform that serves `home` on this machine.
            token: None: `DESKHAND_TOKEN`, else, for a platform of this machine, the one in `home`.
            home: None: `DESKHAND_HOME`, else ~/.deskhand.
            timeout_s: for one answer.
            patience_s: no call is sent again so long after the first time.

        Raises:
            InvalidField: the address is none; NotServing: there is none; Unauthorized: there is no token.
        """
        address, kept = find(url, token, home)
        self._patience = Patience(address=address, seconds=patience_s)
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {kept}"},
            timeout=timeout_s,
            trust_env=False,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _do(self, call: Call[T]) -> T:
        return await self._follow(exchange(call, self._patience))

    async def _every(self, page: Callable[[str | None], Call[Page[Model]]]) -> AsyncIterator[Model]:
        cursor: str | None = None
        while True:
            found = await self._do(page(cursor))
            for one in found.items:
                yield one
            cursor = found.next_cursor
            if cursor is None:
                return

    async def _follow(self, flow: Flow[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                answer = await self._sent(step)

    async def _sent(self, call: Call[Any]) -> Answer:
        try:
            return await sent(self._http, call)
        except httpx.TransportError as error:
            return error

    async def _streamed(self, kind: type[Model], call: Call[Any], after: int) -> AsyncGenerator[Model]:
        reader = EventReader(last_id=after)
        patience = StreamPatience(self._patience.seconds)
        while True:
            reader.restart()
            try:
                async with aclosing(self._lines(call, reader.last_id)) as lines:
                    async for line in lines:
                        patience.heard()
                        told = reader.feed(line)
                        if told is not None:
                            yield kind.model_validate_json(told.data)
                if not call.params["follow"]:
                    return
                error = Unreachable("the platform ended the stream")
            except httpx.TransportError as broken:
                error = self._patience.lost(broken)
            except ApiError as refused:
                error = refused
            await asyncio.sleep(patience.pause_s(error))

    async def _lines(self, call: Call[Any], last_id: int) -> AsyncGenerator[str]:
        headers = {"Last-Event-ID": str(last_id)}
        async with self._http.stream(
            "GET", call.path, params=call.params, headers=headers, timeout=SILENCE_S
        ) as response:
            if response.is_error:
                await response.aread()
                raise refusal(response)
            lines = LineReader()
            async for text in response.aiter_text():
                for line in lines.feed(text):
                    yield line


class Connection:
    """Carries calls out by blocking."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: Path | None = None,
        timeout_s: float = 30.0,
        patience_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """
        Args:
            url: None: `DESKHAND_URL`, else the platform that serves `home` on this machine.
            token: None: `DESKHAND_TOKEN`, else, for a platform of this machine, the one in `home`.
            home: None: `DESKHAND_HOME`, else ~/.deskhand.
            timeout_s: for one answer.
            patience_s: no call is sent again so long after the first time.

        Raises:
            InvalidField: the address is none; NotServing: there is none; Unauthorized: there is no token.
        """
        address, kept = find(url, token, home)
        self._patience = Patience(address=address, seconds=patience_s)
        self._http = httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {kept}"},
            timeout=timeout_s,
            trust_env=False,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _do(self, call: Call[T]) -> T:
        return self._follow(exchange(call, self._patience))

    def _every(self, page: Callable[[str | None], Call[Page[Model]]]) -> Iterator[Model]:
        cursor: str | None = None
        while True:
            found = self._do(page(cursor))
            yield from found.items
            cursor = found.next_cursor
            if cursor is None:
                return

    def _follow(self, flow: Flow[T]) -> T:
        answer: Answer = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                answer = self._sent(step)

    def _sent(self, call: Call[Any]) -> Answer:
        try:
            return sent_now(self._http, call)
        except httpx.TransportError as error:
            return error

    def _streamed(self, kind: type[Model], call: Call[Any], after: int) -> Generator[Model]:
        reader = EventReader(last_id=after)
        patience = StreamPatience(self._patience.seconds)
        while True:
            reader.restart()
            try:
                with closing(self._lines(call, reader.last_id)) as lines:
                    for line in lines:
                        patience.heard()
                        told = reader.feed(line)
                        if told is not None:
                            yield kind.model_validate_json(told.data)
                if not call.params["follow"]:
                    return
                error = Unreachable("the platform ended the stream")
            except httpx.TransportError as broken:
                error = self._patience.lost(broken)
            except ApiError as refused:
                error = refused
            time.sleep(patience.pause_s(error))

    def _lines(self, call: Call[Any], last_id: int) -> Generator[str]:
        headers = {"Last-Event-ID": str(last_id)}
        with self._http.stream(
            "GET", call.path, params=call.params, headers=headers, timeout=SILENCE_S
        ) as response:
            if response.is_error:
                response.read()
                raise refusal(response)
            lines = LineReader()
            for text in response.iter_text():
                yield from lines.feed(text)
