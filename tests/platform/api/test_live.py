"""Leases of a real sandbox host and their screens, over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from deskhand_platform import host_address, live
from deskhand_platform.lease_owners import lease_owner, leasing_task
from deskhand_platform.live import LiveSandboxes
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_sandbox.errors import HostUnreachable, SandboxTimeout
from deskhand_sandbox.host import HostSettings, SandboxClient, Screen, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks import make_task

TASK = make_task("fake/press-button", 1)


async def allowed() -> bool:
    return True


async def test_what_runs_can_be_looked_at(
    client: httpx.AsyncClient, services: Services, tmp_path: Path
) -> None:
    assert (await client.get("/v1/sandboxes")).json() == {"items": []}  # no host is up
    for path in ("/v1/sandboxes/1", "/v1/sandboxes/1/screen.jpg", "/v1/sandboxes/1/screen.mjpeg"):
        unknown = await client.get(path)  # whether it is lent
        assert (unknown.status_code, unknown.json()["error"]["type"]) == (503, "host_unreachable")
    settings = HostSettings(kinds={"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with start_host(settings) as host:
        host_address.publish(services.settings.home, host.url, host.token)
        assert (await client.get("/v1/sandboxes")).json() == {"items": []}
        async with (
            SandboxClient(host.url, host.token) as source,
            source.lease("fake", owner="somebody") as sandbox,
        ):
            [lease] = (await client.get("/v1/sandboxes")).json()["items"]
            assert (lease["owner"], lease["task_id"], lease["task"]) == ("somebody", None, None)
            screen = f"/v1/sandboxes/{lease['id']}/screen.jpg"
            assert (await client.get(screen)).status_code == 204
            await sandbox.reset(TASK)
            [lease] = (await client.get("/v1/sandboxes")).json()["items"]
            assert lease["task_id"] == TASK.id
            first = await client.get(screen)
            assert first.headers["content-type"] == "image/jpeg" and first.content[:2] == b"\xff\xd8"
            known = {"If-None-Match": first.headers["etag"]}
            assert (await client.get(screen, headers=known)).status_code == 304
            parts = services.live.frames(lease["id"], services.stopping, allowed)
            assert b"Content-Type: image/jpeg" in await anext(parts)
            await sandbox.reset(make_task("fake/press-in-order", 2))
            assert b"\xff\xd8" in await anext(parts)
            await parts.aclose()
        assert (await client.get(screen)).status_code == 404
        assert (await client.get(f"/v1/sandboxes/{lease['id']}")).status_code == 404
        assert (await client.get(f"/v1/sandboxes/{lease['id']}/screen.mjpeg")).status_code == 404
    assert (await client.get(f"/v1/sandboxes/{lease['id']}")).status_code == 503  # the host is gone
    await services.live.close()


async def test_the_pictures_end_for_who_is_shut_out(
    services: Services,
    person: Callable[..., Awaitable[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "ASK_AGAIN_S", 0.0)
    ada = {"Authorization": f"Bearer {await person('ada')}"}
    settings = HostSettings(kinds={"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    listener = listen("127.0.0.1", 0)
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as source:
        host_address.publish(services.settings.home, host.url, host.token)
        async with source.lease("fake", owner="somebody") as sandbox, serve_api(services, listener):
            await sandbox.reset(TASK)
            [lease] = await services.live.leases()
            screen = f"{address_of(listener)}/v1/sandboxes/{lease.id}/screen.mjpeg"
            async with (
                asyncio.timeout(100),
                httpx.AsyncClient(headers=ada, trust_env=False, timeout=None) as http,
                http.stream("GET", screen) as response,
            ):
                parts = response.aiter_bytes()
                assert b"Content-Type: image/jpeg" in await anext(parts)
                await services.accounts.users.change("ada", disabled=True)
                async for _ in parts:
                    pass
            assert await services.live.lease(lease.id) is not None
    await services.live.close()


async def test_the_pictures_go_on_when_the_host_answers_again_and_end_with_the_lease(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "AWAY_S", 0.0)
    settings = HostSettings(kinds={"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as source:
        host_address.publish(services.settings.home, host.url, host.token)
        async with source.lease("fake", owner="somebody") as sandbox, asyncio.timeout(60):
            await sandbox.reset(TASK)
            [lease] = await services.live.leases()
            parts = services.live.frames(lease.id, services.stopping, allowed)
            await anext(parts)
            failures = [HostUnreachable("it restarts"), SandboxTimeout("no picture came")]

            async def screen(lease_id: str, *, known: str | None = None) -> Screen | None:
                if failures:
                    raise failures.pop()
                return await LiveSandboxes.screen(services.live, lease_id, known=known)

            monkeypatch.setattr(services.live, "screen", screen)
            await sandbox.reset(make_task("fake/press-in-order", 2))
            assert b"\xff\xd8" in await anext(parts)
            assert failures == []
        async with asyncio.timeout(100):
            assert [part async for part in parts] == []
    await services.live.close()


@pytest.mark.parametrize("owner", ["worker-1", "task-", "task-xyz-0", "rollout"])
def test_a_lease_of_another_has_no_task(owner: str) -> None:
    assert leasing_task(owner) is None
    assert leasing_task(lease_owner("a" * 32) + "-0") == "a" * 32
