"""A host killed in the middle of an episode: when the next one has started, nothing of the first is left."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.isolation.limits import MOUNT
from deskhand_sandbox.manager import PoolSettings, processes
from deskhand_sandbox.manager.journal import MARK, SCRATCH_PREFIX
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import EnvironmentSpec, Task, VerifierSpec


def task(kind: str) -> Task:
    return Task(
        id=f"killed/{kind}",
        environment=EnvironmentSpec(kind=kind),
        verifier=VerifierSpec(name="expression"),
        instruction="Wait.",
    )


def everything_of(pid: int, folder: Path) -> list[Process]:
    """The host, what it started, and virtual machines, which are nobody's children."""
    (journal,) = folder.glob("manager-*.json")
    found = {each.pid: each for each in processes.marked(MARK, json.loads(journal.read_text())["mark"])}
    found |= processes.descendants(pid)
    found |= {
        each.pid: each
        for each in processes.everything()
        if "qemu-system" in each.command and f"-{pid}-" in each.command
    }
    host = processes.find(pid)
    assert host is not None
    return [host, *found.values()]


def vm_folders(pid: int) -> list[Path]:
    return list(Path("/var/tmp").glob(f"deskhand-vm-*-{pid}-*"))


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("browser", marks=pytest.mark.browser),
        "desktop",
        pytest.param("android", marks=pytest.mark.browser),
        pytest.param("vm", marks=pytest.mark.slow),
    ],
)
async def test_nothing_is_left_after_the_next_start(tmp_path: Path, kind: str, temporary: Path) -> None:
    try:
        create_backend(kind)
    except BackendMissing as missing:
        pytest.skip(str(missing))
    pools = {kind: PoolSettings(max_sandboxes=1, create_s=300)}
    first = await start_host(HostSettings(kinds=pools, state_folder=tmp_path))
    try:
        async with SandboxClient(first.url, first.token) as client, client.lease(kind, owner="me") as sandbox:
            await sandbox.reset(task(kind))
            family = everything_of(first.pid, tmp_path)
            assert len(family) > 1
            os.kill(first.pid, signal.SIGKILL)
            with pytest.raises(InfrastructureError):
                await sandbox.observe()
        # the next one need not lend the same kinds
        async with start_host(HostSettings(kinds={"fake": PoolSettings()}, state_folder=tmp_path)):
            assert [each.command[:100] for each in family if processes.is_running(each)] == []
            assert vm_folders(first.pid) == []
            assert list(MOUNT.glob(f"**/deskhand-{first.pid}-*")) == []
            assert len(list(tmp_path.glob("manager-*.json"))) == 1
    finally:
        await first.close()
    assert list(temporary.glob(f"{SCRATCH_PREFIX}*")) == []
    assert [each.name for each in tmp_path.iterdir()] == ["host.log"]
