from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.host import frames, wire
from deskhand_sandbox.host.frames import BAD_FRAME
from deskhand_sandbox.host.serve import Server, listen, server_config
from deskhand_sandbox.host.server import Host
from deskhand_sandbox.host.wire import PROTOCOL
from deskhand_sandbox.manager import PoolSettings, SandboxManager

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

TOKEN = "the token of this host"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ASK = {"kind": "tiny", "owner": "me"}


def make_backend(kind: str, settings: object):
    if kind == "absent":
        raise BackendMissing("absent needs something: pip install 'deskhand[absent]'")
    if kind == "broken":
        raise RuntimeError("a bug")
    return tiny.TinyBackend()


@pytest.fixture
async def manager() -> AsyncIterator[SandboxManager]:
    pools = {kind: PoolSettings(max_sandboxes=1) for kind in ("tiny", "absent", "broken")}
    async with SandboxManager(pools, make_backend=make_backend) as manager:
        yield manager


@pytest.fixture
async def http(manager: SandboxManager) -> AsyncIterator[httpx.AsyncClient]:
    listener, url = listen(None)
    ready = asyncio.Event()
    server = Server(server_config(Host(manager, TOKEN)), ready.set)
    manager.endpoint = url
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await ready.wait()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client
    await manager.close()
    server.should_exit = True
    await serving
    listener.close()


async def grant(http: httpx.AsyncClient) -> dict[str, str]:
    response = await http.post("/v1/leases", json=ASK, headers=BEARER)
    assert response.status_code == 201
    return response.json()


def channel(http: httpx.AsyncClient, lease: dict[str, str], **options: object):
    url = lease["endpoint"].replace("http", "ws", 1)
    settings = {"subprotocols": [PROTOCOL], "proxy": None} | options
    settings.setdefault("additional_headers", {"Authorization": f"Bearer {lease['token']}"})
    return connect(url, **settings)


async def test_health_needs_no_token(http: httpx.AsyncClient) -> None:
    response = await http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"ok": True, "protocol": PROTOCOL})


async def test_a_lease_from_grant_to_release(http: httpx.AsyncClient, manager: SandboxManager) -> None:
    lease = await grant(http)
    assert lease["endpoint"] == f"{manager.endpoint}/v1/leases/{lease['id']}/io"
    beat = await http.post(f"/v1/leases/{lease['id']}/heartbeat", headers=BEARER)
    assert (beat.status_code, beat.json()) == (200, {"heartbeat_s": 15.0})
    status = (await http.get("/v1/status", headers=BEARER)).json()
    assert status["pools"][0]["leased"] == 1
    assert status["leases"][0]["owner"] == "me"
    assert lease["token"] not in json.dumps(status)
    released = await http.delete(f"/v1/leases/{lease['id']}", headers=BEARER)
    assert released.status_code == 200
    again = await http.delete(f"/v1/leases/{lease['id']}", headers=BEARER)
    assert (again.status_code, again.json()["error"]) == (410, "LeaseExpired")
    beat = await http.post(f"/v1/leases/{lease['id']}/heartbeat", headers=BEARER)
    assert beat.status_code == 410


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xe9"],
)
async def test_without_the_token_nothing_is_told(http: httpx.AsyncClient, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
    for method, path in [
        ("POST", "/v1/leases"),
        ("GET", "/v1/status"),
        ("DELETE", "/v1/leases/x"),
        ("POST", "/v1/leases/x/heartbeat"),
    ]:
        response = await http.request(method, path, headers=headers, json=ASK)
        assert response.status_code == 401
        assert "token is missing or wrong" in response.json()["message"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[]", "object"),
        (b"{}", "kind: Field required"),
        (b'{"kind": "tiny"}', "owner: Field required"),
        (b'{"kind": "", "owner": "me"}', "kind:"),
        (b'{"kind": "tiny", "owner": "me", "wait_s": -1}', "wait_s:"),
        (b'{"kind": "tiny", "owner": "me", "wait_s": "NaN"}', "wait_s:"),
        (b'{"kind": "tiny", "owner": "me", "wait_s": 1e9}', "wait_s:"),
        (b'{"kind": "tiny", "owner": "me", "colour": 1}', "colour: Extra"),
        (b'{"kind": "tiny", "owner": "\xff"}', "body:"),
        (b" " * 100_000, "larger than"),
    ],
)
async def test_a_malformed_request_is_told_what_is_wrong(
    http: httpx.AsyncClient, manager: SandboxManager, body: bytes, says: str
) -> None:
    response = await http.post("/v1/leases", content=body, headers=BEARER)
    assert response.status_code == 400
    assert says in response.json()["message"]
    assert manager.status().pools[0].created == 0


@pytest.mark.parametrize(
    ("ask", "status", "error", "says"),
    [
        (ASK | {"kind": "tinny"}, 404, "UnknownName", "did you mean tiny"),
        (ASK | {"kind": "absent"}, 501, "BackendMissing", "pip install"),
        (
            ASK | {"kind": "broken"},
            500,
            "InfrastructureError",
            "the sandbox host failed: RuntimeError: a bug",
        ),
    ],
)
async def test_a_refusal_is_a_sentence(
    http: httpx.AsyncClient, ask: dict[str, str], status: int, error: str, says: str
) -> None:
    response = await http.post("/v1/leases", json=ask, headers=BEARER)
    assert (response.status_code, response.json()["error"]) == (status, error)
    assert says in response.json()["message"]


async def test_no_free_sandbox_and_unknown_paths_are_sentences_too(http: httpx.AsyncClient) -> None:
    await grant(http)
    busy = await http.post("/v1/leases", json=ASK | {"wait_s": 0.01}, headers=BEARER)
    assert (busy.status_code, busy.json()["error"]) == (503, "LeaseUnavailable")
    unknown = await http.get("/v2/leases")
    assert (unknown.status_code, unknown.json()["message"]) == (404, "GET /v2/leases: Not Found")
    wrong_method = await http.put("/v1/leases", headers=BEARER)
    assert wrong_method.status_code == 405


def asking(http: httpx.AsyncClient, ask: object, token: str = TOKEN, **options: object):
    url = f"{str(http.base_url).replace('http', 'ws', 1)}/v1/leases?{urlencode({'ask': json.dumps(ask)})}"
    settings = {"subprotocols": [PROTOCOL], "proxy": None} | options
    return connect(url, additional_headers={"Authorization": f"Bearer {token}"}, **settings)


async def test_a_lease_asked_for_on_its_own_channel_ends_with_it(
    http: httpx.AsyncClient, manager: SandboxManager
) -> None:
    async with asking(http, ASK) as connection:
        granted = wire.unpack(await connection.recv(decode=False))
        (lease,) = manager.status().leases
        assert (granted["id"], granted["sandbox_id"]) == (lease.id, lease.sandbox_id)
        assert lease.connected
        assert (await answer_to(connection, frames.pack_request(1, 0, "observe", None))).error is None
        async with channel(http, granted) as second:  # its token lets others in, as for live view
            assert (await answer_to(second, frames.pack_request(1, 0, "observe", None))).error is None
    await until(lambda: manager.status().leases == ())
    pool = manager.status().pools[0]
    assert (pool.idle, pool.lost) == (1, {})


@pytest.mark.parametrize(
    ("ask", "token", "options", "status", "says"),
    [
        (ASK, "wrong", {}, 401, "token is missing or wrong"),
        (ASK, TOKEN, {"subprotocols": ["deskhand-io-99"]}, 400, "this host speaks"),
        ({"kind": "tiny"}, TOKEN, {}, 400, "owner: Field required"),
        (ASK | {"kind": "tinny"}, TOKEN, {}, 404, "did you mean tiny"),
        (ASK | {"kind": "absent"}, TOKEN, {}, 501, "pip install"),
        (ASK | {"kind": "broken"}, TOKEN, {}, 500, "RuntimeError: a bug"),
    ],
)
async def test_a_channel_that_is_not_granted_is_refused_in_a_sentence(
    http: httpx.AsyncClient, ask: object, token: str, options: dict[str, object], status: int, says: str
) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with asking(http, ask, token, **options):
            pass
    assert caught.value.response.status_code == status
    assert says in json.loads(caught.value.response.body)["message"]


async def test_a_channel_that_waits_and_hangs_up_leaves_the_queue(
    http: httpx.AsyncClient, manager: SandboxManager
) -> None:
    async with asking(http, ASK):
        waiting = asyncio.create_task(asking(http, ASK).__aenter__())
        await until(lambda: manager.status().pools[0].queued == 1)
        waiting.cancel()
        await until(lambda: manager.status().pools[0].queued == 0)
    await until(lambda: manager.status().leases == ())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.001)


# ---- channels ---------------------------------------------------------------------------------------


async def test_a_channel_opens_only_with_its_own_leases_token(http: httpx.AsyncClient) -> None:
    lease = await grant(http)
    for token in ("", "wrong", TOKEN):
        with pytest.raises(InvalidStatus) as caught:
            async with channel(http, lease, additional_headers={"Authorization": f"Bearer {token}"}):
                pass
        assert caught.value.response.status_code == 410
        assert json.loads(caught.value.response.body)["error"] == "LeaseExpired"
    with pytest.raises(InvalidStatus):
        async with channel(http, lease | {"endpoint": lease["endpoint"].replace(lease["id"], "other")}):
            pass


async def test_another_version_of_the_format_is_refused(http: httpx.AsyncClient) -> None:
    lease = await grant(http)
    for offered in (["deskhand-io-99"], None):
        with pytest.raises(InvalidStatus) as caught:
            async with channel(http, lease, subprotocols=offered):
                pass
        assert caught.value.response.status_code == 400
        assert f"this host speaks {PROTOCOL}" in json.loads(caught.value.response.body)["message"]


async def answer_to(connection: ClientConnection, data: bytes) -> frames.Reply:
    await connection.send(data)
    return frames.read_reply(await connection.recv(decode=False))


@pytest.mark.parametrize(
    ("method", "target", "argument", "error", "says"),
    [
        ("reset", 0, {"": "Click", "x": 1, "y": 1}, "InvalidTask", "expected Task"),
        ("act", 0, {"": "Click", "x": "1", "y": 1}, "InvalidAction", "Click.x must be"),
        ("act", 0, None, "InvalidAction", "a record is a map"),
        ("evaluate", 0, 7, "WireError", "expected text"),
        ("restore", 0, None, "WireError", "expected text"),
        ("fork", 0, "two", "WireError", "fork takes a count"),
        ("fork", 0, -1, "WireError", "fork takes a count"),
        ("observe", 9, None, "WireError", "has no sandbox 9"),
        ("__class__", 0, None, "WireError", "no method '__class__'"),
    ],
)
async def test_a_malformed_call_is_answered_and_the_channel_goes_on(
    http: httpx.AsyncClient, method: str, target: int, argument: object, error: str, says: str
) -> None:
    async with channel(http, await grant(http)) as connection:
        reply = await answer_to(connection, frames.pack_request(1, target, method, argument))
        assert type(reply.error).__name__ == error
        assert says in str(reply.error)
        good = await answer_to(connection, frames.pack_request(2, 0, "observe", False))
        assert (good.id, good.error) == (2, None)


async def test_a_channel_forgets_the_forks_that_were_closed(http: httpx.AsyncClient) -> None:
    async with channel(http, await grant(http)) as connection:

        async def ask(method: str, target: int, argument: Any) -> frames.Reply:
            return await answer_to(connection, frames.pack_request(1, target, method, argument))

        one, two = (frames.decode_handle(each).target for each in (await ask("fork", 0, 2)).result)
        assert (await ask("close", one, None)).error is None
        assert "has no sandbox" in str((await ask("observe", one, False)).error)
        (three,) = (frames.decode_handle(each).target for each in (await ask("fork", 0, 1)).result)
        assert len({0, one, two, three}) == 4
        for target in (0, two, three):
            assert (await ask("observe", target, False)).error is None


@pytest.mark.parametrize("data", [b"", b"\xc1", b"nonsense", "text", b"\x93\x01\x02\x03"])
async def test_bytes_that_are_no_frame_close_the_channel_with_a_reason(
    http: httpx.AsyncClient, manager: SandboxManager, data: bytes | str
) -> None:
    async with channel(http, await grant(http)) as connection:
        await connection.send(data)
        with pytest.raises(ConnectionClosed) as caught:
            await connection.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == BAD_FRAME
        assert caught.value.rcvd.reason
    assert manager.status().pools[0].lost == {}


async def test_two_channels_of_one_lease_take_turns(http: httpx.AsyncClient) -> None:
    """A second one, as for live view, works beside the first and its leaving ends nothing."""
    lease = await grant(http)
    async with channel(http, lease) as first:
        async with channel(http, lease) as second:
            assert (await answer_to(second, frames.pack_request(1, 0, "observe", None))).error is None
        assert (await answer_to(first, frames.pack_request(1, 0, "observe", None))).error is None
