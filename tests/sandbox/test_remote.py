from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as websocket_server

from deskhand_sandbox.base import Capability
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import (
    HostUnreachable,
    InvalidAction,
    InvalidTask,
    LeaseError,
    LeaseExpired,
    LeaseUnavailable,
    SandboxDied,
    SandboxTimeout,
    UnknownName,
    VerifierError,
)
from deskhand_sandbox.host import SandboxClient, channel, client
from deskhand_sandbox.host.channel import Channel
from deskhand_sandbox.host.serve import Server, listen, server_config
from deskhand_sandbox.host.server import Host
from deskhand_sandbox.host.wire import PROTOCOL
from deskhand_sandbox.manager import LeaseTerms, PoolSettings, SandboxManager
from deskhand_sandbox.manager.records import MOST_CREATE_S
from deskhand_sandbox.types import Answer, CallTool, Click, EnvironmentSpec, Run, Task, TypeText, VerifierSpec

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

TASK = Task(id="tiny/type", environment=EnvironmentSpec(kind="tiny"), verifier=VerifierSpec(name="none"))
TOKEN = "the token of this host"


class Served:
    """A host within this process, with a client, and its manager in reach."""

    def __init__(self, manager: SandboxManager, source: SandboxClient, backends: list) -> None:
        self.manager, self.url, self.source = manager, manager.endpoint, source
        self.backends = backends

    @property
    def pool(self):
        return self.manager.status().pools[0]

    def sandboxes(self):
        return [sandbox for backend in self.backends for sandbox in backend.made]


@asynccontextmanager
async def serve(
    *,
    terms: LeaseTerms | None = None,
    deadlines: Deadlines | None = None,
    socket_path: Path | None = None,
    places: int = 2,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Served]:
    backends: list = []

    def make_backend(kind: str, settings: object):
        backends.append(tiny.TinyBackend())
        return backends[-1]

    manager = SandboxManager(
        {"tiny": PoolSettings(max_sandboxes=places)},
        terms=terms,
        deadlines=deadlines,
        make_backend=make_backend,
        clock=clock,
    )
    listener, manager.endpoint = listen(socket_path)
    ready = asyncio.Event()
    server = Server(server_config(Host(manager, TOKEN)), ready.set)
    async with manager:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await ready.wait()
        try:
            async with SandboxClient(manager.endpoint, TOKEN) as source:
                yield Served(manager, source, backends)
        finally:
            await manager.close()
            server.should_exit = True
            await serving
            listener.close()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve() as served:
        yield served


async def until(condition) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.001)


async def test_every_call_comes_back_as_from_a_sandbox_of_this_process(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        assert sandbox.kind == "tiny"
        assert sandbox.capabilities == {Capability.EVALUATE, Capability.SNAPSHOT, Capability.FORK}
        start = await sandbox.reset(TASK)
        assert start.instruction == "Type."
        assert start.observation.screenshot.data == tiny.PICTURE
        seen = await sandbox.act(TypeText(text="héllo \ud800"))
        assert seen.output == "héllo \ud800"
        assert seen.size_px == (160, 210)
        assert (await sandbox.observe(text_tree=True)).text_tree == "root"
        assert (await sandbox.observe()).text_tree is None
        assert await sandbox.evaluate("1 + 1") == {"text": "héllo \ud800", "expression": "1 + 1"}
        kept = await sandbox.snapshot()
        await sandbox.act(TypeText(text="!"))
        assert (await sandbox.restore(kept)).output == "héllo \ud800"
        assert sandbox.alive()
    assert not sandbox.alive()
    assert (served.pool.leased, served.pool.idle) == (0, 1)


async def test_the_same_over_a_unix_socket_for_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "host.sock"
    async with serve(socket_path=path) as served:
        assert served.url == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        async with served.source.lease("tiny", owner="me") as sandbox:
            await sandbox.reset(TASK)
            assert (await sandbox.act(TypeText(text="x"))).output == "x"


async def test_errors_are_raised_as_the_classes_they_were(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        with pytest.raises(InvalidAction, match="only takes text"):
            await sandbox.act(Click(x=1, y=1))
        with pytest.raises(VerifierError, match="the expression failed"):
            await sandbox.evaluate("wrong")
        with pytest.raises(InvalidAction, match=r"expected .*Click.* not 'Answer'"):
            await sandbox.act(Answer(text="42"))  # type: ignore[arg-type]
        with pytest.raises(InvalidAction, match="cannot be sent"):
            await sandbox.act("click")  # type: ignore[arg-type]
        with pytest.raises(InvalidAction, match="cannot be sent"):
            await sandbox.act(CallTool(name="x", arguments={"a": {1}}))  # type: ignore[dict-item]
        with pytest.raises(InvalidTask, match="cannot be sent"):
            await sandbox.reset("task")  # type: ignore[arg-type]
        await sandbox.reset(TASK)
    with pytest.raises(UnknownName, match="did you mean tiny") as caught:
        async with served.source.lease("tinny", owner="me"):
            pass
    assert caught.value.suggestions == ("tiny",)


async def test_what_is_longer_than_a_frame_is_refused_and_breaks_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = server_config(Host(served.manager, TOKEN))
    assert config.ws_max_size == channel.LARGEST_FRAME, "what is not refused arrives"
    async with served.source.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        monkeypatch.setattr(channel, "LARGEST_FRAME", 2000)
        with pytest.raises(InvalidAction, match="act takes 2000 bytes at most, not 3"):
            await sandbox.act(TypeText(text="x" * 3000))
        assert (await sandbox.act(TypeText(text="x"))).output == "x"


async def test_a_dead_sandbox_is_told_and_replaced(served: Served) -> None:
    async with served.source.lease("tiny", owner="neighbour") as neighbour:
        async with served.source.lease("tiny", owner="me") as sandbox:
            with pytest.raises(SandboxDied, match="is dead"):
                await sandbox.act(Run(command="die"))
            with pytest.raises(SandboxDied, match="failed before"):
                await sandbox.observe()
        async with served.source.lease("tiny", owner="me") as sandbox:
            await sandbox.reset(TASK)
        await neighbour.reset(TASK)
    assert served.pool.lost == {"died": 1}


async def test_a_bug_in_a_backend_is_told_in_a_sentence(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        with pytest.raises(SandboxDied, match="the sandbox host failed: KeyError"):
            await sandbox.act(Run(command="crash"))
        with pytest.raises(SandboxDied):
            await sandbox.observe()
    await until(lambda: served.pool.leased == 0)
    assert "a bug in a backend" in caplog.text
    assert served.pool.lost == {"bug": 1}


async def test_two_clients_at_once_share_the_places_and_wait_for_each_other(served: Served) -> None:
    async with SandboxClient(served.url, TOKEN) as other:
        most = 0

        async def work(source: SandboxClient, name: str) -> None:
            nonlocal most
            async with source.lease("tiny", owner=name) as sandbox:
                await sandbox.reset(TASK)
                for letter in name:
                    seen = await sandbox.act(TypeText(text=letter))
                most = max(most, served.pool.leased)
                assert seen.output == name

        await asyncio.gather(
            *(work(source, f"worker{n}") for n in range(8) for source in (served.source, other))
        )
        assert most == 2
        assert served.pool.created == 2
        status = await other.status()
        assert status.pools == served.manager.status().pools
        assert status.leases == ()


async def test_no_free_sandbox_in_time_is_said(served: Served) -> None:
    async with served.source.lease("tiny", owner="a"), served.source.lease("tiny", owner="b"):
        with pytest.raises(LeaseUnavailable, match="2 of 2 are on loan"):
            async with served.source.lease("tiny", owner="c", wait_s=0.05):
                pass


async def test_a_client_that_hangs_up_while_it_queues_leaves_the_queue(served: Served) -> None:
    async with served.source.lease("tiny", owner="a"), served.source.lease("tiny", owner="b"):
        waiting = asyncio.create_task(served.source.lease("tiny", owner="c").__aenter__())
        await until(lambda: served.pool.queued == 1)
        waiting.cancel()
        await until(lambda: served.pool.queued == 0)


async def test_a_wrong_host_token_is_refused_and_opens_nothing(served: Served) -> None:
    async with SandboxClient(served.url, "wrong") as stranger:
        with pytest.raises(LeaseError, match="token is missing or wrong"):
            async with stranger.lease("tiny", owner="me"):
                pass
        with pytest.raises(LeaseError, match="token is missing or wrong"):
            await stranger.status()
    assert served.pool.created == 0


async def test_a_holder_renews_its_lease_while_a_call_is_under_way(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        (lease,) = served.manager.status().leases
        granted = served.manager.heartbeat(lease.id).deadline_s
        hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
        await until(lambda: served.backends[0].made[-1].acting)
        await sandbox.renew()
        assert served.manager.heartbeat(lease.id).deadline_s > granted
        assert not hanging.done()
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)


async def test_a_lease_ends_under_its_holder_with_the_reason() -> None:
    now_s = 0.0
    async with serve(terms=LeaseTerms(ttl_s=60), clock=lambda: now_s) as served:
        async with served.source.lease("tiny", owner="me") as sandbox:
            hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
            await until(lambda: served.backends[0].made[-1].acting)
            now_s = 61.0
            served.manager.reap()
            with pytest.raises(LeaseExpired, match="neither used nor renewed for 60 s"):
                await hanging
            with pytest.raises(LeaseExpired, match="neither used nor renewed for 60 s"):
                await sandbox.observe()
            assert not sandbox.alive()
        assert served.pool.lost == {"call cut": 1}


async def test_an_open_channel_needs_no_heartbeats() -> None:
    async with serve(terms=LeaseTerms(heartbeat_s=0.05)) as served:
        async with served.source.lease("tiny", owner="me") as sandbox:
            lease = next(iter(served.manager.status().leases))
            await until(lambda: next(iter(served.manager.status().leases)).age_s > 0.2)
            await sandbox.observe()
            assert [each.id for each in served.manager.status().leases] == [lease.id]
        assert served.pool.lost == {}


@pytest.mark.parametrize("in_a_call", [False, True])
async def test_a_lost_client_frees_its_sandbox_at_once(in_a_call: bool) -> None:
    """The channel breaks and nobody gives the lease back, as when the client is killed."""
    async with serve(terms=LeaseTerms(heartbeat_s=1000.0)) as served:
        lease = served.source.lease("tiny", owner="lost")
        sandbox = await lease.__aenter__()
        call = asyncio.create_task(sandbox.act(Run(command="hang" if in_a_call else "wrong")))
        if not in_a_call:
            with pytest.raises(InvalidAction):
                await call
        else:
            await asyncio.sleep(0)
            await until(lambda: served.sandboxes()[-1].acting)
        sandbox._channel.abandon(SandboxDied, "the client is lost")  # type: ignore[attr-defined]
        if in_a_call:
            with pytest.raises(SandboxDied, match="the client is lost"):
                await call
        await until(lambda: served.pool.leased == 0)
        assert served.pool.lost == ({"call cut": 1} if in_a_call else {})
        await lease.__aexit__(None, None, None)


async def test_a_holder_that_is_cancelled_gives_its_sandbox_back(served: Served) -> None:
    async def hold() -> None:
        async with served.source.lease("tiny", owner="me") as sandbox:
            await sandbox.reset(TASK)
            await asyncio.Event().wait()

    for _ in range(3):
        holding = asyncio.create_task(hold())
        await until(lambda: served.pool.leased == 1)
        await asyncio.sleep(0)
        holding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await holding
        await until(lambda: served.pool.leased == 0)


async def test_a_host_that_grants_nonsense_is_no_host() -> None:
    async def nonsense(connection: ServerConnection) -> None:
        await connection.send(b"\x93nonsense")

    async with websocket_server(nonsense, "127.0.0.1", 0, subprotocols=[PROTOCOL]) as server:
        url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        async with SandboxClient(url, TOKEN) as source:
            with pytest.raises(HostUnreachable, match="grant"):
                async with source.lease("tiny", owner="me"):
                    pass


async def test_a_cancelled_call_breaks_its_lease_and_no_other(served: Served) -> None:
    async with served.source.lease("tiny", owner="neighbour") as neighbour:
        async with served.source.lease("tiny", owner="me") as sandbox:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await sandbox.act(Run(command="hang"))
            with pytest.raises(SandboxDied, match="cancelled half-way"):
                await sandbox.observe()
            await until(lambda: served.pool.leased == 1 or not sandbox.alive())
        await neighbour.reset(TASK)
    await until(lambda: sum(served.pool.lost.values()) == 1)


async def test_the_hosts_deadline_ends_a_hanging_call() -> None:
    async with serve(deadlines=Deadlines(call_s=0.1)) as served:
        async with served.source.lease("tiny", owner="me") as sandbox:
            with pytest.raises(SandboxTimeout, match=r"longer than 0\.1 s"):
                await sandbox.act(Run(command="hang", timeout_s=0))
        assert served.pool.lost == {"timed out": 1}


async def test_the_clients_own_deadline_ends_a_call_the_host_forgot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "GRACE_S", -59.8)
    async with serve() as served:
        async with served.source.lease("tiny", owner="me") as sandbox:
            with pytest.raises(SandboxTimeout, match="no answer from http"):
                await sandbox.act(Run(command="hang", timeout_s=0))
            with pytest.raises(SandboxDied, match="an earlier act got no answer"):
                await sandbox.observe()
        await until(lambda: sum(served.pool.lost.values()) == 1)


async def test_forks_work_at_their_own_pace_over_one_channel(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        await sandbox.act(TypeText(text="a"))
        left, right = await sandbox.fork(2)
        assert len({sandbox.id, left.id, right.id}) == 3
        hanging = asyncio.create_task(left.act(Run(command="hang")))
        assert (await right.act(TypeText(text="r"))).output == "ar"
        assert (await sandbox.observe()).output == "a"
        await right.close()
        with pytest.raises(SandboxDied, match="given back"):
            await right.observe()
        assert not hanging.done()
    with pytest.raises((SandboxDied, LeaseExpired)):
        await hanging


async def test_closing_gives_back_early(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        await sandbox.close()
        await sandbox.close()
        assert (served.pool.leased, served.pool.idle) == (0, 1)
        with pytest.raises(SandboxDied, match="given back"):
            await sandbox.observe()


async def test_a_host_that_stops_tells_its_clients(served: Served) -> None:
    async with served.source.lease("tiny", owner="me") as sandbox:
        await served.manager.close()
        with pytest.raises(SandboxDied, match="ends with its manager"):
            await sandbox.observe()
        with pytest.raises(LeaseUnavailable, match="closing"):
            async with served.source.lease("tiny", owner="late"):
                pass


async def test_nobody_at_the_address_is_said_with_the_address(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"
    async with SandboxClient(url, TOKEN) as source:
        with pytest.raises(HostUnreachable, match=url):
            async with source.lease("tiny", owner="me"):
                pass
    async with SandboxClient("unix:/nowhere/host.sock", TOKEN) as source:
        with pytest.raises(HostUnreachable, match=r"unix:/nowhere/host\.sock"):
            await source.status()


@pytest.mark.parametrize("url", ["", "127.0.0.1:80", "ftp://x", "unix:relative", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no address of a sandbox host"):
        SandboxClient(url, TOKEN)


async def test_another_server_at_the_address_is_no_host() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with SandboxClient(url, TOKEN) as source:
            with pytest.raises(HostUnreachable, match="not as a sandbox host"):
                await source.status()


async def test_who_asks_waits_as_long_as_a_sandbox_may_take_to_be_made(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float] = []

    async def lend(*_: object, limit_s: float) -> None:
        limits.append(limit_s)
        raise HostUnreachable("enough")

    monkeypatch.setattr(Channel, "lend", lend)
    with pytest.raises(HostUnreachable, match="enough"):
        async with served.source.lease("tiny", owner="me", wait_s=60):
            pass
    assert limits[0] > 60 + PoolSettings(create_s=MOST_CREATE_S).create_s
