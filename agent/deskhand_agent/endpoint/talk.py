"""A model that answers messages in words, over HTTP: the reply comes as it is said, one JSON object a line.

`POST /say` takes `{"messages": [{"role", "segments": [{"text"} | {"image": base64}]}], "temperature",
"max_tokens", "stop": […], "seed"}`. Each line of the answer is `{"said": text}`; the last is `{"end": "stop"
| "length", "prompt_tokens", "reply_tokens"}`, or `{"error": message, "kind": …}` where it broke off.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from deskhand_agent.endpoint.pictures import picture_of
from deskhand_agent.errors import InferenceError, InferenceTimeout
from deskhand_agent.inference import Sampling
from deskhand_agent.prompt import ImageSegment, PromptMessage, Segment, Text


class TooLong(InferenceError):
    """The messages and the reply do not fit into what the model takes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A reply so far."""

    text: str
    """All of it: what is drawn later may change its end, never its beginning by more than one character."""
    tokens: int
    prompt_tokens: int
    ended: bool
    """The model ended it itself; it may also be at its greatest length."""


class Talks(Protocol):
    """A model that answers messages."""

    def reply(
        self, messages: Sequence[PromptMessage], sampling: Sampling, seed: int | None
    ) -> AsyncGenerator[Said]:
        """The reply after each token.

        Raises:
            TooLong: it does not fit.
            InferenceError: the model did not reply.
        """
        ...


class Spoken:
    """What of a growing reply can be told: nothing after a stop text, nor what may become one."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = stop
        self._told = 0
        self.stopped = False

    def more(self, text: str, *, last: bool = False) -> str:
        """What can be told now of the reply so far, and was not told before.

        Args:
            last: nothing follows.
        """
        found = [at for at in (text.find(stop) for stop in self._stop) if at >= 0]
        if found:
            self.stopped = True
            end = min(found)
        elif last:
            end = len(text)
        else:
            # half a character of several tokens reads as U+FFFD until the rest has come
            whole = text.removesuffix("\ufffd")
            end = len(whole) - max((_begun(whole, stop) for stop in self._stop), default=0)
        new = text[self._told : end]
        self._told = max(self._told, end)
        return new


def _begun(text: str, stop: str) -> int:
    """How much of a stop text the text may end with."""
    return max((n for n in range(1, len(stop)) if text.endswith(stop[:n])), default=0)


def create_talk(model: Talks, *, token: str) -> Starlette:
    """The application; callers send the token as `Authorization: Bearer TOKEN`."""

    async def say(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return PlainTextResponse("send the token as Authorization: Bearer TOKEN", 401)
        asked = cast("Mapping[str, Any]", await request.json())
        return StreamingResponse(_lines(model, asked), media_type="application/x-ndjson")

    return Starlette(routes=[Route("/say", say, methods=["POST"])])


async def _lines(model: Talks, asked: Mapping[str, Any]) -> AsyncGenerator[str]:
    spoken, said = Spoken(asked["stop"]), None
    try:
        messages = [_message(each) for each in asked["messages"]]
        sampling = Sampling(temperature=asked["temperature"], max_tokens=asked["max_tokens"])
        async with aclosing(model.reply(messages, sampling, asked["seed"])) as reply:
            async for said in reply:
                if new := spoken.more(said.text):
                    yield _line({"said": new})
                if spoken.stopped:
                    break
    except (InferenceError, ValueError) as error:
        yield _line({"error": str(error), "kind": _kind(error)})
        return
    assert said is not None
    if not spoken.stopped and (rest := spoken.more(said.text, last=True)):
        yield _line({"said": rest})
    end = "stop" if spoken.stopped or said.ended else "length"
    yield _line({"end": end, "prompt_tokens": said.prompt_tokens, "reply_tokens": said.tokens})


def _kind(error: Exception) -> str:
    kinds = {TooLong: "too_long", InferenceTimeout: "timeout", InferenceError: "failed"}
    return next((name for kind, name in kinds.items() if isinstance(error, kind)), "refused")


def _message(told: Mapping[str, Any]) -> PromptMessage:
    return PromptMessage(role=told["role"], segments=tuple(_segment(each) for each in told["segments"]))


def _segment(told: Mapping[str, str]) -> Segment:
    return Text(text=told["text"]) if "text" in told else ImageSegment(image=picture_of(told["image"]))


def _line(value: Mapping[str, object]) -> str:
    return json.dumps(value) + "\n"
