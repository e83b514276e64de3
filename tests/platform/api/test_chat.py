"""A kept policy behind OpenAI's API, asked by OpenAI's own client."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import signal
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from PIL import Image as Picture

from deskhand_flywheel.errors import InvalidQuery, StorageFull
from deskhand_flywheel.store import Store
from deskhand_platform.errors import InvalidField, TooManyTries, WrongState
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.settings import ChatSettings, Settings

TINY = "deskhand-tiny"


def data_url(kind: str = "PNG") -> str:
    buffer = io.BytesIO()
    Picture.new("RGB", (160, 120), "white").save(buffer, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def message(text: str = "Click on the button.", picture: str | None = None) -> Any:
    url = {"url": picture or data_url()}
    return {
        "role": "user",
        "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": url}],
    }


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"chat": ChatSettings(policies=1)})


@pytest.fixture
async def url(services: Services) -> AsyncIterator[str]:
    listener = listen("127.0.0.1", 0)
    async with services.talkers.running(), serve_api(services, listener):
        yield address_of(listener)


@pytest.fixture
async def asked(url: str, token: str) -> AsyncIterator[AsyncOpenAI]:
    plain = httpx.AsyncClient(trust_env=False, timeout=120)
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0, http_client=plain) as made:
        yield made


async def test_a_policy_replies_to_messages_with_pictures_or_says_why_not(
    asked: AsyncOpenAI, services: Services
) -> None:
    ask = asked.chat.completions.create
    system: Any = {"role": "system", "content": "Be quick."}
    whole = await ask(model=TINY, messages=[system, message()], temperature=0, max_tokens=24)
    [choice] = whole.choices
    assert choice.message.content and choice.message.role == "assistant"
    assert whole.usage is not None and 0 < whole.usage.completion_tokens <= 24
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens

    async def said(**more: Any) -> tuple[str, Any, str | None]:
        text, usage, finish = "", None, None
        stream = await ask(
            model=TINY,
            messages=[system, message()],
            stream=True,
            stream_options={"include_usage": True},
            **{"temperature": 0, "max_tokens": 24, **more},
        )
        async for chunk in stream:
            usage = chunk.usage or usage
            for part in chunk.choices:
                text += part.delta.content or ""
                finish = part.finish_reason or finish
        return text, usage, finish

    assert await said() == (choice.message.content, whole.usage, choice.finish_reason)
    short = await ask(model=TINY, messages=[message()], temperature=0, max_tokens=2)
    assert short.choices[0].finish_reason == "length" and short.usage is not None
    assert short.usage.completion_tokens == 2
    stop = choice.message.content[3:6]
    cut, usage, finish = await said(stop=[stop])
    assert (cut, finish) == (choice.message.content.partition(stop)[0], "stop") and usage is not None
    seeded = [(await said(temperature=2, seed=seed))[0] for seed in (5, 5, 6, 7, 8)]
    assert seeded[0] == seeded[1] and len(set(seeded)) > 1
    together = await asyncio.gather(*(said() for _ in range(4)))
    assert together == [(choice.message.content, whole.usage, choice.finish_reason)] * 4
    [kept] = await services.store.policies()
    listed = [one.id async for one in asked.models.list()]
    assert listed == [kept.id, TINY]
    assert (await asked.models.retrieve(kept.id)).owned_by == "deskhand"
    by_id = await ask(model=kept.id, messages=[system, message()], temperature=0, max_tokens=24)
    assert by_id.choices[0].message.content == choice.message.content
    with pytest.raises(openai.BadRequestError) as long:
        await ask(model=TINY, messages=[message("click " * 5000)], stream=True)
    assert (long.value.param, long.value.code) == ("messages", "context_length_exceeded")
    for picture in (
        "data:image/png;base64,AAAA",
        "data:image/png;base64,%",
        data_url("GIF").replace("gif", "png"),
    ):
        with pytest.raises(openai.BadRequestError) as broken:
            await ask(model=TINY, messages=[message(picture=picture)])
        assert broken.value.code == "invalid_image"


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"n": 2}, "n"),
        ({"top_p": 0.5}, "top_p"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"messages": []}, "messages"),
        ({"extra_body": {"top_k": 3}}, "top_k"),
        ({"messages": [message(picture="https://example.com/a.png")]}, "image_url.url"),
    ],
)
async def test_what_no_policy_does_is_refused_by_name(
    asked: AsyncOpenAI, changed: dict[str, Any], param: str
) -> None:
    body: dict[str, Any] = {"model": TINY, "messages": [message()], **changed}
    with pytest.raises(openai.BadRequestError) as refused:
        await asked.chat.completions.create(**body)
    assert param in str(refused.value.param) and refused.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InvalidField("limit", "there are no parameters here"), 400, "invalid_request_error"),
        (InvalidQuery("a value is none that the database can hold"), 400, "invalid_request_error"),
        (TooManyTries("wait 3 s", retry_s=2.5), 429, "rate_limit_error"),
        (StorageFull("the disk is full"), 507, "server_error"),
        (WrongState("it is over", state="done"), 409, "invalid_request_error"),
    ],
)
async def test_whose_fault_it_is_is_told(
    client: httpx.AsyncClient,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    kind: str,
) -> None:
    monkeypatch.setattr(type(store), "policies", AsyncMock(side_effect=error))
    answer = await client.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert answer.headers.get("Retry-After") == ("3" if status == 429 else None)


async def test_a_parameter_that_nothing_reads_is_named(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/models", params={"limit": 3})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "limit")


async def test_errors_are_openai_s(asked: AsyncOpenAI, url: str) -> None:
    ask = asked.chat.completions.create
    with pytest.raises(openai.NotFoundError) as unknown:
        await ask(model="nothing", messages=[message()])
    assert (unknown.value.param, unknown.value.code) == ("model", "model_not_found")
    with pytest.raises(openai.NotFoundError):
        await asked.models.retrieve("nothing")
    plain = httpx.AsyncClient(trust_env=False, timeout=120)
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="wrong", http_client=plain) as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()


@pytest.mark.slow
async def test_a_process_that_died_is_started_again_and_an_idle_one_ends(
    asked: AsyncOpenAI, services: Services
) -> None:
    talkers = services.talkers
    [process] = await _processes(services)
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    reply = await asked.chat.completions.create(model=TINY, messages=[message()], max_tokens=2)
    assert reply.usage is not None
    [second] = await _processes(services)
    object.__setattr__(talkers._settings.chat, "idle_s", 0.2)
    await second.wait()


async def _processes(services: Services) -> list[asyncio.subprocess.Process]:
    async with services.talkers.using(TINY):
        return [one.process for one in services.talkers._talking.values()]
