"""Retries, pauses and counts, against a real HTTP server."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import JSONResponse, PlainTextResponse, Response

from deskhand_agent.apis import ApiClient, ApiSettings, Nonsense, Usage
from deskhand_agent.apis.client import whole
from deskhand_agent.apis.pace import Pace
from deskhand_agent.errors import EndpointError, InferenceTimeout, Trouble


def read(body: object) -> tuple[str, Usage | None]:
    if not isinstance(body, dict) or "said" not in body:
        raise Nonsense(f"nothing said: {body}")
    return str(body["said"]), Usage(prompt_tokens=90, completion_tokens=10, cached_tokens=50)


def trouble(status: int, **headers: str) -> Response:
    asked = {name.replace("_", "-"): value for name, value in headers.items()}
    return JSONResponse({"error": {"message": "busy"}}, status_code=status, headers=asked)


def test_a_request_that_is_tried_again_takes_as_long_as_patience_and_one_more() -> None:
    settings = ApiSettings(model="m", timeout_s=300.0, patience_s=900.0)
    assert settings.longest_s == 1200.0
    assert replace(settings, retries=0).longest_s == 300.0


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    endpoint.reply = lambda: JSONResponse({"said": "hello"})
    return endpoint


Connect = Callable[..., ApiClient]


@pytest.fixture
async def connect(endpoint: Any) -> AsyncIterator[Connect]:
    clients: list[ApiClient] = []

    def client(**settings: Any) -> ApiClient:
        found = ApiClient(
            ApiSettings(model="m", **{"base_url": endpoint.url, "retries": 2, "timeout_s": 5.0} | settings),
            name="it",
            base_url="http://127.0.0.1:1",
            key_variable="NO_SUCH_KEY",
            headers=lambda key: {"Authorization": key},
        )
        clients.append(found)
        return found

    yield client
    for each in clients:
        await each.close()


async def test_a_reply_with_what_it_cost(connect: Connect) -> None:
    client = connect(usd_per_million_prompt_tokens=10.0, usd_per_million_completion_tokens=100.0)
    reply = await client.post("/x", {"a": 1}, read)
    assert reply.content == "hello"
    cost = {"prompt_tokens": 90.0, "cached_tokens": 50.0, "completion_tokens": 10.0}
    assert reply.cost == {**cost, "usd": pytest.approx(0.0019)}
    cheaper = connect(usd_per_million_prompt_tokens=10.0, usd_per_million_cached_tokens=1.0)
    assert (await cheaper.post("/x", {}, read)).cost["usd"] == pytest.approx(0.00045)


async def test_what_is_no_url_is_refused_before_it_is_asked(connect: Connect) -> None:
    with pytest.raises(EndpointError, match="'http://localhost:80x/v1' is no URL of a server") as refused:
        connect(base_url="http://localhost:80x/v1")
    assert refused.value.trouble is Trouble.REFUSED


async def test_any_text_can_be_sent(connect: Connect, endpoint: Any) -> None:
    await connect().post("/x", {"text": "é\ud800\x00"}, read)
    assert endpoint.sent == [{"text": "é\ud800\x00"}]
    assert endpoint.headers[0]["content-type"] == "application/json"


async def test_every_trouble_on_the_way_is_counted_with_the_reply(connect: Connect, endpoint: Any) -> None:
    endpoint.queue = [
        trouble(429, retry_after_ms="1"),
        trouble(429, retry_after="0"),
        trouble(503, retry_after_ms="1"),
        PlainTextResponse("<html>"),
        JSONResponse({"other": 1}),
    ]
    client = connect(retries=5)
    cost = (await client.post("/x", {}, read)).cost
    assert {name: cost[name] for name in ("rate_limited", "server_error", "nonsense")} == {
        "rate_limited": 2.0,
        "server_error": 1.0,
        "nonsense": 2.0,
    }
    assert cost["waited_s"] > 0
    assert client.troubles == {Trouble.RATE_LIMITED: 2, Trouble.SERVER_ERROR: 1, Trouble.NONSENSE: 2}


def read_counted(body: Any) -> tuple[str, Usage | None]:
    usage = Usage(prompt_tokens=90, completion_tokens=10)
    if "said" not in body:
        raise Nonsense("nothing said", usage=usage)
    return str(body["said"]), usage


async def test_replies_that_make_no_sense_are_paid_for(connect: Connect, endpoint: Any) -> None:
    client = connect(usd_per_million_prompt_tokens=10.0)
    endpoint.queue = [JSONResponse({"other": 1})] * 2
    cost = (await client.post("/x", {}, read_counted)).cost
    assert (cost["prompt_tokens"], cost["completion_tokens"], cost["nonsense"]) == (270.0, 30.0, 2.0)
    assert cost["usd"] == pytest.approx(0.0027)
    endpoint.queue = [JSONResponse({"other": 1})] * 3
    with pytest.raises(
        EndpointError, match=r"spent: 270 prompt_tokens, 30 completion_tokens, 0\.0027 usd"
    ) as caught:
        await client.post("/x", {}, read_counted)
    lost = caught.value.cost
    assert (lost["prompt_tokens"], lost["completion_tokens"], lost["nonsense"]) == (270.0, 30.0, 3.0)


async def test_replies_that_make_no_sense_count_for_the_rate_limit(
    connect: Connect, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[float] = []
    monkeypatch.setattr(Pace, "settle", lambda pace, taken, cost: settled.append(cost))
    endpoint.queue = [JSONResponse({"other": 1}), PlainTextResponse("{"), trouble(500, retry_after_ms="1")]
    await connect(retries=3).post("/x", {}, read_counted)
    assert settled == [100, 0, 0, 100]


@pytest.mark.parametrize(
    ("status", "expected", "requests"),
    [
        (429, Trouble.RATE_LIMITED, 3),
        (500, Trouble.SERVER_ERROR, 3),
        (529, Trouble.SERVER_ERROR, 3),
        (408, Trouble.REFUSED, 3),
        (400, Trouble.REFUSED, 1),
        (401, Trouble.REFUSED, 1),
        (404, Trouble.REFUSED, 1),
        (302, Trouble.REFUSED, 1),
    ],
)
async def test_lasting_trouble_is_an_error_of_its_kind(
    connect: Connect, endpoint: Any, status: int, expected: Trouble, requests: int
) -> None:
    endpoint.queue = [trouble(status, retry_after_ms="1") for _ in range(9)]
    with pytest.raises(EndpointError, match=f"it answered {status}: busy") as caught:
        await connect().post("/x", {}, read)
    assert (caught.value.status, caught.value.trouble, len(endpoint.sent)) == (status, expected, requests)
    assert f"({requests} requests: {expected} {requests})" in str(caught.value) or requests == 1


@pytest.mark.parametrize(("wish", "requests"), [("true", 3), ("false", 1)])
async def test_the_server_may_say_whether_to_ask_again(
    connect: Connect, endpoint: Any, wish: str, requests: int
) -> None:
    status = 400 if wish == "true" else 500
    endpoint.queue = [trouble(status, retry_after_ms="1", x_should_retry=wish) for _ in range(9)]
    with pytest.raises(EndpointError):
        await connect().post("/x", {}, read)
    assert len(endpoint.sent) == requests


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("as_date", [False, True])
async def test_it_waits_as_long_as_the_server_asks(
    connect: Connect, endpoint: Any, status: int, as_date: bool
) -> None:
    not_before_s = int(time.time()) + 3
    wanted = email.utils.formatdate(not_before_s, usegmt=True) if as_date else "1"
    endpoint.queue = [trouble(status, retry_after=wanted)]
    reply = await connect().post("/x", {}, read)
    if as_date:
        assert time.time() >= not_before_s - 0.01
    else:
        assert reply.cost["waited_s"] >= 0.99


async def test_a_rate_limit_told_to_one_request_holds_the_others(connect: Connect, endpoint: Any) -> None:
    endpoint.queue = [trouble(429, retry_after="1")]
    client = connect()
    began_s = time.monotonic()
    first = asyncio.create_task(client.post("/x", {}, read))
    while not client.troubles:
        await asyncio.sleep(0.005)
    await client.post("/x", {}, read)
    assert time.monotonic() - began_s >= 0.99
    await first


@pytest.mark.parametrize("settings", [{"retries": 0}, {"patience_s": 0.8}])
async def test_a_rate_limit_holds_the_others_also_where_the_one_told_gives_up(
    connect: Connect, endpoint: Any, settings: dict[str, Any]
) -> None:
    endpoint.queue = [trouble(429, retry_after="1")]
    client, began_s = connect(**settings), time.monotonic()
    with pytest.raises(EndpointError):
        await client.post("/x", {}, read)
    reply = await client.post("/x", {}, read)
    assert (reply.content, len(endpoint.sent)) == ("hello", 2)
    assert time.monotonic() - began_s >= 0.79


async def test_others_are_held_no_longer_than_patience(connect: Connect, endpoint: Any) -> None:
    endpoint.queue = [trouble(429, retry_after="86400")]
    client = connect(patience_s=0.3)
    with pytest.raises(EndpointError):
        await client.post("/x", {}, read)
    async with asyncio.timeout(60):
        assert (await client.post("/x", {}, read)).content == "hello"


async def test_patience_begins_with_the_first_request(connect: Connect, endpoint: Any) -> None:
    endpoint.queue = [trouble(429, retry_after_ms="3000")]
    client = connect(patience_s=5.0)
    first = asyncio.create_task(client.post("/x", {}, read))
    while not client.troubles:
        await asyncio.sleep(0.005)
    endpoint.queue = [JSONResponse({"said": "first"}), trouble(503, retry_after_ms="2500")]
    second = await client.post("/x", {}, read)
    assert ((await first).content, second.content) == ("first", "hello")
    assert second.cost["server_error"] == 1.0


async def test_a_pause_beyond_its_patience_is_not_waited_for(connect: Connect, endpoint: Any) -> None:
    endpoint.queue = [trouble(429, retry_after="3600")]
    began_s = time.monotonic()
    with pytest.raises(EndpointError) as caught:
        await connect(patience_s=60.0).post("/x", {}, read)
    assert (caught.value.trouble, len(endpoint.sent)) == (Trouble.RATE_LIMITED, 1)
    assert time.monotonic() - began_s < 30


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "inf", "Mon, 99 Foo 2026 00:00:00 GMT", "1e400"])
async def test_a_pause_that_makes_no_sense_is_its_own(
    connect: Connect, endpoint: Any, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr("deskhand_agent.apis.client.FIRST_PAUSE_S", 0.5)
    endpoint.queue = [trouble(500, retry_after=asked)]
    reply = await connect(retries=1).post("/x", {}, read)
    assert 0.3 < reply.cost["waited_s"] < 30


async def test_silence_is_asked_again_and_then_a_timeout(connect: Connect, endpoint: Any) -> None:
    silent = asyncio.Event()

    async def hang() -> Response:
        await silent.wait()
        return Response()

    endpoint.queue = [hang]
    assert (await connect(timeout_s=2.0).post("/x", {}, read)).cost["timeout"] == 1.0
    endpoint.queue = [hang] * 2
    with pytest.raises(InferenceTimeout, match=r"within 0\.1 s \(2 requests: timeout 2\)"):
        await connect(timeout_s=0.1, retries=1).post("/x", {}, read)
    silent.set()


async def test_a_connection_that_breaks_off_is_unreachable(connect: Connect, endpoint: Any) -> None:
    with pytest.raises(EndpointError, match="could not be asked") as caught:
        await connect(base_url="http://127.0.0.1:9", retries=0).post("/x", {}, read)
    assert caught.value.trouble is Trouble.UNREACHABLE


async def test_the_provider_itself_wants_a_key(connect: Connect) -> None:
    with pytest.raises(EndpointError, match="NO_SUCH_KEY"):
        connect(base_url=None)


@pytest.mark.parametrize("given", [True, False])
async def test_white_space_around_a_key_is_no_part_of_it(
    connect: Connect, endpoint: Any, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    monkeypatch.setenv("NO_SUCH_KEY", " sk-9\r\n")
    await connect(api_key="sk-9\n" if given else None).post("/x", {}, read)
    assert endpoint.keys == ["sk-9"]


@pytest.mark.parametrize("key", ["sk-s\u00e9cret", "sk-s\necret", "sk-s\x00ecret", "sk-s\x7fecret", "\ud800"])
async def test_a_key_that_no_header_takes_is_refused_and_not_quoted(connect: Connect, key: str) -> None:
    with pytest.raises(EndpointError, match="as it was issued") as caught:
        connect(api_key=key)
    assert caught.value.trouble is Trouble.REFUSED
    assert key not in str(caught.value) and "sk-s" not in str(caught.value)


async def test_what_http_forbids_to_send_is_not_quoted_and_not_asked_again(
    connect: Connect, endpoint: Any
) -> None:
    client = ApiClient(
        ApiSettings(model="m", base_url=endpoint.url, retries=2),
        name="it",
        base_url="",
        key_variable="NO_SUCH_KEY",
        headers=lambda key: {"Authorization": "Bearer secret\n"},
    )
    with pytest.raises(EndpointError, match="breaks the rules of HTTP") as caught:
        await client.post("/x", {}, read)
    await client.close()
    assert (caught.value.trouble, client.troubles.total()) == (Trouble.REFUSED, 1)
    assert "secret" not in str(caught.value)


@given(st.recursive(st.none() | st.integers() | st.text() | st.booleans(), st.lists), st.text())
def test_whole_numbers_of_anything(body: object, name: str) -> None:
    assert whole(body, name) is None
    assert whole({name: body}, name) == (body if type(body) is int and 0 <= body <= 10**12 else None)
    assert whole({"a": {name: body}}, "a", name) == whole({name: body}, name)


@pytest.mark.parametrize(("told", "taken"), [(10**12, 10**12), (10**12 + 1, None), (10**400, None)])
def test_a_number_that_no_reply_has_is_none(told: int, taken: int | None) -> None:
    assert whole({"n": told}, "n") == taken
