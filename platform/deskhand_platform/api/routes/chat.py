"""/v1/chat/completions and /v1/models: kept policies in the form of OpenAI's API."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import httpx
from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_platform.api.chat_models import (
    MAX_TOKENS,
    ChatBody,
    ChatChoice,
    ChatCompletion,
    ChatMessage,
    ChatReplyMessage,
    ChatUsage,
    ModelCard,
    ModelCards,
    OpenAIError,
    TextPart,
)
from deskhand_platform.api.deps import Have
from deskhand_platform.api.openai_form import ChatRefused, OpenAIRoute, error_body
from deskhand_platform.errors import NoRoom
from deskhand_platform.services import Services

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIError} for status in (400, 401, 403, 404, 500, 503, 504)
}
router = APIRouter(tags=["chat"], route_class=OpenAIRoute)
Line = dict[str, Any]


@router.get("/models", responses=ERRORS)
async def list_models(have: Have) -> ModelCards:
    """Every policy that can be asked, newest first."""
    kept = [ModelCard(id=one.id, created=int(one.created_at_s)) for one in await have.store.policies()]
    return ModelCards(data=[*kept, ModelCard(id=DESKHAND_TINY, created=0)])


@router.get("/models/{id}", responses=ERRORS)
async def get_model(have: Have, id: str) -> ModelCard:
    """One of them."""
    if id == DESKHAND_TINY:
        return ModelCard(id=id, created=0)
    return ModelCard(id=id, created=int((await have.store.policy(id)).created_at_s))


@router.post(
    "/chat/completions",
    responses={**ERRORS, 200: {"model": ChatCompletion, "content": {"text/event-stream": {}}}},
)
async def create_chat_completion(have: Have, body: ChatBody) -> Response:
    """One reply of a policy to messages with pictures; whole, or as it is said (`stream`).

    The first request to a policy starts a process that loads it, which takes seconds.
    """
    lines = _said(have, body)
    first = await anext(lines)
    if body.stream:
        return StreamingResponse(_events(body, first, lines), media_type="text/event-stream")
    text = ""
    async with aclosing(lines):
        line = first
        while "end" not in line:
            text += line["said"]
            line = await anext(lines)
    choice = ChatChoice(message=ChatReplyMessage(content=text), finish_reason=line["end"])
    done = ChatCompletion(
        id=_id(), created=int(time.time()), model=body.model, choices=[choice], usage=_usage(line)
    )
    return Response(done.model_dump_json(), media_type="application/json")


async def _said(have: Services, body: ChatBody) -> AsyncGenerator[Line]:
    """What the policy's process tells, line by line; the last has the end.

    Raises:
        UnknownPolicy, NoRoom, ChatRefused: there is no reply, or it broke off.
    """
    asked = {
        "messages": [_message(each) for each in body.messages],
        "temperature": 1.0 if body.temperature is None else body.temperature,
        "max_tokens": body.max_completion_tokens or body.max_tokens or MAX_TOKENS,
        "stop": [stop for stop in ([body.stop] if isinstance(body.stop, str) else body.stop or []) if stop],
        "seed": body.seed,
    }
    try:
        async with have.talkers.using(body.model) as http, http.stream("POST", "/say", json=asked) as told:
            told.raise_for_status()
            async for text in told.aiter_lines():
                line = cast(Line, json.loads(text))
                if "error" in line:
                    raise _refused(line)
                yield line
    except httpx.HTTPError as error:
        raise NoRoom(f"the process of {body.model} ended: {error}", retry_after_s=1.0) from error


def _refused(line: Line) -> ChatRefused:
    message = str(line["error"])
    match line["kind"]:
        case "too_long":
            return ChatRefused(400, message, param="messages", code="context_length_exceeded")
        case "refused":
            return ChatRefused(400, f"a picture {message}", param="messages", code="invalid_image")
        case "timeout":
            return ChatRefused(504, message, code="timeout")
        case _:
            return ChatRefused(500, message)


def _message(message: ChatMessage) -> dict[str, object]:
    content = message.content or ""
    parts = [TextPart(type="text", text=content)] if isinstance(content, str) else content
    segments = [
        {"text": part.text} if isinstance(part, TextPart) else {"image": part.image_url.url.partition(",")[2]}
        for part in parts
    ]
    return {"role": "system" if message.role == "developer" else message.role, "segments": segments}


async def _events(body: ChatBody, line: Line, lines: AsyncGenerator[Line]) -> AsyncGenerator[str]:
    head = {"id": _id(), "object": "chat.completion.chunk", "created": int(time.time()), "model": body.model}
    with_usage = body.stream_options is not None and body.stream_options.include_usage
    more: Line = {"usage": None} if with_usage else {}

    def chunk(delta: dict[str, str], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(lines):
        try:
            while "end" not in line:
                yield chunk({"content": line["said"]})
                line = await anext(lines)
        except (NoRoom, ChatRefused) as error:
            yield _event(error_body(error).model_dump())
            return
    yield chunk({}, line["end"])
    if with_usage:
        yield _event({**head, "choices": [], "usage": _usage(line).model_dump()})
    yield "data: [DONE]\n\n"


def _event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _usage(line: Line) -> ChatUsage:
    prompt, reply = int(line["prompt_tokens"]), int(line["reply_tokens"])
    return ChatUsage(prompt_tokens=prompt, completion_tokens=reply, total_tokens=prompt + reply)


def _id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"
