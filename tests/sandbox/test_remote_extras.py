"""What a browser can do beyond the contract, through a lease of another process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName, UnsupportedCapability
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.host.client import RemoteSandbox
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.manager.extras import PART_BYTES
from deskhand_sandbox.manager.records import Lost
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import Click, EnvironmentSpec, JsonValue, Task, VerifierSpec

spec = importlib.util.spec_from_file_location("rfb", Path(__file__).with_name("rfb.py"))
assert spec is not None and spec.loader is not None
rfb = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rfb)

pytestmark = pytest.mark.browser

COUNTING = "<script>let n = 0; setInterval(() => { n += 1; }, 10);</script>"


def page(html: str, **settings: JsonValue) -> Task:
    return Task(
        id="extras/page",
        environment=EnvironmentSpec(
            kind="browser",
            settings={"url": f"data:text/html,{quote(html)}", "viewport_px": [160, 120], **settings},
        ),
        verifier=VerifierSpec(name="expression"),
        instruction="Look.",
        seed=7,
    )


@asynccontextmanager
async def lending(folder: Path, **pool: JsonValue) -> AsyncIterator[SandboxClient]:
    settings = HostSettings(
        kinds={"browser": PoolSettings(max_sandboxes=2, settings=pool)}, state_folder=folder / "state"
    )
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as client:
        yield client


async def until_closed(client: SandboxClient) -> dict[Lost, int]:
    """What the only pool has thrown away, once that is done."""
    async with asyncio.timeout(120):
        while (pool := (await client.status()).pools[0]).closing or pool.leased:
            await asyncio.sleep(0.01)
    return dict(pool.lost)


async def test_a_pages_time_is_stopped_from_another_process(tmp_path: Path) -> None:
    async with lending(tmp_path) as client, client.lease("browser", owner="me") as sandbox:
        assert isinstance(sandbox, RemoteSandbox)
        await sandbox.reset(page(COUNTING, page_speed=1.0, settle_deadline_ms=200))
        await sandbox.pause_time()
        first = await sandbox.evaluate("n")
        await asyncio.sleep(0.1)
        assert await sandbox.evaluate("n") == first
        await sandbox.resume_time(speed=10)
        async with asyncio.timeout(120):
            while await sandbox.evaluate("n") == first:
                pass
        with pytest.raises(InvalidTask, match="a page's time goes 0 to"):
            await sandbox.resume_time(speed=-1)
        await sandbox.reset(page(COUNTING))
        with pytest.raises(UnsupportedCapability):
            await sandbox.pause_time()
        with pytest.raises(UnsupportedCapability, match="a browser sandbox has no open_vnc"):
            await sandbox.open_vnc()
        assert await sandbox.evaluate("n >= 0")


async def test_a_stranger_works_in_a_leased_page_until_the_lease_ends(tmp_path: Path) -> None:
    async with lending(tmp_path) as client, async_playwright() as playwright:
        async with (
            client.lease("browser", owner="me") as sandbox,
            client.lease("browser", owner="neighbour") as neighbour,
        ):
            assert isinstance(sandbox, RemoteSandbox)
            await neighbour.reset(page("<title>theirs</title>"))
            await sandbox.reset(page("<button onclick='this.textContent=`pressed`'>Inside</button>"))
            url = await sandbox.open_endpoint()
            stranger = await playwright.chromium.connect_over_cdp(url)
            (seen,) = [page for context in stranger.contexts for page in context.pages]
            await seen.get_by_role("button").click()
            assert await sandbox.evaluate("document.querySelector('button').textContent") == "pressed"
            with pytest.raises(PlaywrightError):
                await playwright.chromium.connect_over_cdp(url[:-1] + ("a" if url[-1] != "a" else "b"))
            used = sandbox.id
        assert await until_closed(client) == {Lost.OPENED: 1}
        with pytest.raises(PlaywrightError):
            await playwright.chromium.connect_over_cdp(url)
        async with asyncio.timeout(120):
            while stranger.is_connected():
                await asyncio.sleep(0.01)
        async with client.lease("browser", owner="next") as one, client.lease("browser", owner="next") as two:
            assert used not in (one.id, two.id)


async def test_recordings_of_an_episode_come_through_the_channel(tmp_path: Path) -> None:
    kept = tmp_path / "recordings"
    kept.mkdir()
    async with lending(tmp_path, recordings=str(kept)) as client:
        async with client.lease("browser", owner="me") as sandbox:
            assert isinstance(sandbox, RemoteSandbox)
            assert await sandbox.finish_recordings() == ()
            await sandbox.reset(page("<h1>one</h1>", har=True, video="webm"))
            await sandbox.act(Click(x=5, y=5))
            files = await sandbox.finish_recordings()
            assert {(each.kind, each.task_id, each.seed) for each in files} == {
                ("har", "extras/page", 7),
                ("webm", "extras/page", 7),
            }
            for each in files:
                whole = await sandbox.read_recording(each.name)
                assert whole == (kept / each.name).read_bytes()
                assert len(whole) == each.size_bytes > 0
                if each.kind == "har":
                    assert json.loads(whole)["log"]["creator"]
            with pytest.raises(UnknownName, match="no-such-file"):
                await sandbox.read_recording("../no-such-file")
        assert await until_closed(client) == {Lost.RECORDED: 1}
        async with client.lease("browser", owner="next") as sandbox:
            assert isinstance(sandbox, RemoteSandbox)
            await sandbox.reset(page("<h1>two</h1>"))
            assert await sandbox.finish_recordings() == ()  # nobody is shown another's
            with pytest.raises(UnknownName):
                await sandbox.read_recording(files[0].name)


async def test_the_last_recording_is_complete_once_the_lease_is_over(tmp_path: Path) -> None:
    kept = tmp_path / "recordings"
    kept.mkdir()
    async with lending(tmp_path, recordings=str(kept)) as client:
        async with client.lease("browser", owner="me") as sandbox:
            await sandbox.reset(page("<h1>one</h1>", har=True))
        assert await until_closed(client) == {Lost.RECORDED: 1}
        (file,) = kept.iterdir()
        assert json.loads(file.read_text())["log"]["version"]


async def test_a_leased_desktop_is_watched_by_vnc(tmp_path: Path) -> None:
    if shutil.which("x11vnc") is None:
        pytest.skip("x11vnc is not installed")
    try:
        create_backend("desktop")
    except BackendMissing as missing:
        pytest.skip(str(missing))
    desk = Task(
        id="extras/desk",
        environment=EnvironmentSpec(kind="desktop", settings={"size_px": [320, 240]}),
        verifier=VerifierSpec(name="expression"),
        instruction="Look.",
    )
    settings = HostSettings(kinds={"desktop": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with (
        start_host(settings) as host,
        SandboxClient(host.url, host.token) as client,
        client.lease("desktop", owner="me") as sandbox,
    ):
        assert isinstance(sandbox, RemoteSandbox)
        size = (await sandbox.reset(desk)).observation.size_px
        address = await sandbox.open_vnc()
        assert await sandbox.open_vnc() == address
        async with rfb.viewer(address.host, address.port, address.password) as viewer:
            assert viewer.size_px == size
            assert len(await viewer.picture()) == 3 * size[0] * size[1]
            with pytest.raises(UnsupportedCapability, match="a desktop sandbox has no open_endpoint"):
                await sandbox.open_endpoint()
            [lease] = (await client.status()).leases
            assert lease.vnc and await client.vnc(lease.id) == address
            await sandbox.reset(desk)
            assert await viewer.ended()


def test_a_part_of_a_recording_fits_a_frame() -> None:
    assert PART_BYTES < 2**23
