from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    SandboxDied,
    UnsupportedCapability,
)
from deskhand_sandbox.manager import PoolSettings, SandboxManager, extras
from deskhand_sandbox.manager.extras import EXTRAS, FinishRecordings, PassesOn, Renew, files_asked
from deskhand_sandbox.manager.loan import LeasedSandbox
from deskhand_sandbox.manager.records import Lost
from deskhand_sandbox.tools.sandbox import with_tools
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Run, Task, VerifierSpec
from deskhand_sandbox.vnc import ServesVnc, VncAddress

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)


@dataclass
class Recording:
    path: Path
    kind: str = "har"
    task_id: str = "tiny/type"
    seed: int = 0


class RichSandbox(tiny.TinySandbox):
    """Has every extra; its recordings are complete a moment after the reset that ends their episode."""

    def __init__(self, backend: RichBackend) -> None:
        super().__init__(backend)
        self.recordings: tuple[Recording, ...] = ()
        self.asked: list[object] = []
        self._begun: list[Recording] = []

    async def reset(self, task: Task):
        begun, self._begun = self._begun, []
        asyncio.get_running_loop().call_later(0.02, self._complete, begun)
        if files_asked(task):
            path = self.backend.folder / f"{self.id}-{len(self.recordings)}.har"
            path.write_bytes(b"x" * 10)
            self._begun.append(Recording(path))
        return await super().reset(task)

    def _complete(self, begun: list[Recording]) -> None:
        if not self.backend.forgets:
            self.recordings += tuple(begun)

    async def pause_time(self) -> None:
        self.asked.append("pause")

    async def resume_time(self, *, speed: float = 1.0) -> None:
        self.asked.append(speed)

    async def open_endpoint(self, token: str | None = None) -> str:
        self.asked.append(token)
        return f"http://127.0.0.1:1/{token}"

    async def open_vnc(self) -> VncAddress:
        if self.backend.lacks_vnc:
            raise BackendMissing("VNC needs a program")
        return VncAddress(host="127.0.0.1", port=5900, password="secret12")


class RichBackend(tiny.TinyBackend):
    def __init__(self, folder: Path, *, forgets: bool = False) -> None:
        super().__init__()
        self.folder, self.forgets, self.lacks_vnc = folder, forgets, False

    async def create(self) -> RichSandbox:
        self.made.append(RichSandbox(self))
        return self.made[-1]


def managing(backend: Backend) -> SandboxManager:
    def make_backend(kind: str, settings: Mapping[str, JsonValue]) -> Backend:
        return backend

    return SandboxManager({"tiny": PoolSettings(max_sandboxes=1)}, make_backend=make_backend)


def task(**settings: JsonValue) -> Task:
    return Task(
        id="tiny/type",
        environment=EnvironmentSpec(kind="tiny", settings=settings),
        verifier=VerifierSpec(name="none"),
    )


def leased(sandbox: Sandbox) -> LeasedSandbox:
    assert isinstance(sandbox, LeasedSandbox)
    return sandbox


def lost(manager: SandboxManager) -> Mapping[Lost, int]:
    return manager.status().pools[0].lost


async def test_a_lease_passes_every_extra_on(tmp_path: Path) -> None:
    backend = RichBackend(tmp_path)
    async with managing(backend) as manager:
        lease = await manager.acquire("tiny", owner="me")
        with manager.connect(lease.id, lease.token) as sandbox:
            await sandbox.pause_time()
            await sandbox.resume_time(speed=2.5)
            assert isinstance(sandbox, ServesVnc)
            assert (await sandbox.open_vnc()).port == 5900
            assert lease.token in await sandbox.open_endpoint()
        manager.release(lease.id)
        assert backend.made[0].asked == ["pause", 2.5, lease.token]


async def test_an_extra_reaches_through_a_sandbox_that_adds_tools(tmp_path: Path) -> None:
    backend = RichBackend(tmp_path)
    async with managing(with_tools(backend)) as manager, manager.lease("tiny", owner="me") as sandbox:
        await leased(sandbox).pause_time()
        assert (await leased(sandbox).open_vnc()).password == "secret12"
    assert backend.made[0].asked == ["pause"]


async def test_what_a_kind_has_not_is_refused_and_costs_no_sandbox() -> None:
    async with managing(tiny.TinyBackend()) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            for each in set(EXTRAS) - {Renew}:  # every lease can be renewed
                call = each(file="x") if each.__name__ == "ReadRecording" else each()  # type: ignore[call-arg]
                with pytest.raises(UnsupportedCapability, match=f"a tiny sandbox has no {each.name}"):
                    await leased(sandbox).extra(call)
        assert lost(manager) == {}


async def test_who_looks_on_by_vnc_harms_nothing(tmp_path: Path) -> None:
    backend = RichBackend(tmp_path)
    async with managing(with_tools(backend)) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            [lease] = manager.status().leases
            assert lease.vnc
            assert await manager.show(lease.id, wait_s=5) is None  # before its first reset
            await sandbox.reset(task())
            address = await manager.show(lease.id, wait_s=5)
            assert address is not None and address.port == 5900
            backend.lacks_vnc = True
            with pytest.raises(BackendMissing, match="needs a program"):
                await manager.show(lease.id, wait_s=5)
            await sandbox.observe()
        assert lost(manager) == {}
        async with manager.lease("tiny", owner="me") as sandbox:
            [lease] = manager.status().leases
            await sandbox.reset(task())
            acting = asyncio.create_task(sandbox.act(Run(command="hang")))
            while not backend.made[0].acting:
                await asyncio.sleep(0)
            assert await manager.show(lease.id, wait_s=0.01) is None  # the holder's call comes first
            acting.cancel()
    async with managing(tiny.TinyBackend()) as manager, manager.lease("tiny", owner="me"):
        assert not manager.status().leases[0].vnc


async def test_who_had_an_endpoint_is_not_followed_by_another_holder(tmp_path: Path) -> None:
    async with managing(RichBackend(tmp_path)) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            await leased(sandbox).open_endpoint()
            first = sandbox.id
        async with manager.lease("tiny", owner="next") as sandbox:
            assert sandbox.id != first
        assert lost(manager) == {Lost.OPENED: 1}
        assert not Lost.OPENED.failure, "housekeeping is no failure"
        assert Lost.DIED.failure


async def test_recordings_are_waited_for_read_in_parts_and_shown_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "PART_BYTES", 4)
    async with managing(RichBackend(tmp_path)) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            for _ in range(2):
                await sandbox.reset(task(har=True))
            files = await leased(sandbox).finish_recordings()
            assert [(each.kind, each.size_bytes) for each in files] == [("har", 10), ("har", 10)]
            assert await leased(sandbox).read_recording(files[1].name) == b"x" * 10
            (tmp_path / files[0].name).unlink()
            with pytest.raises(InfrastructureError, match="cannot be read"):
                await leased(sandbox).read_recording(files[0].name)
        async with manager.lease("tiny", owner="next") as sandbox:
            assert await leased(sandbox).finish_recordings() == ()
        assert sum(lost(manager).values()) == 1


async def test_a_recording_that_cannot_be_written_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "COMPLETE_S", 0.05)
    async with (
        managing(RichBackend(tmp_path, forgets=True)) as manager,
        manager.lease("tiny", owner="me") as sandbox,
    ):
        await sandbox.reset(task(video="mp4"))
        assert await leased(sandbox).extra(FinishRecordings()) == ()


async def test_an_extra_of_a_lease_that_is_over_is_refused(tmp_path: Path) -> None:
    async with managing(RichBackend(tmp_path)) as manager:
        async with manager.lease("tiny", owner="me") as sandbox:
            pass
        assert isinstance(sandbox, PassesOn)
        with pytest.raises(SandboxDied, match="given back"):
            await sandbox.pause_time()
