"""What a sandbox keeps of its machine, on a machine that notes what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from deskhand_sandbox.backends.vm.sandbox import SNAPSHOTS, VmSandbox
from deskhand_sandbox.backends.vm.settings import GuestSettings, VmSettings
from deskhand_sandbox.errors import InfrastructureError, UnknownName


class Notes:
    """Of a machine, the states on its disk."""

    ended = None

    def __init__(self) -> None:
        self.states: list[str] = []

    async def save(self, tag: str) -> None:
        self.states.append(tag)

    async def forget(self, tag: str) -> None:
        self.states.remove(tag)


async def test_a_state_that_is_let_go_of_takes_neither_disk_nor_a_place() -> None:
    machine: Any = Notes()
    copy: Any = None
    sandbox = VmSandbox(
        VmSettings(), machine, None, size_px=(8, 8), copy=copy, task=GuestSettings()
    )  # fmt: skip
    kept = [await sandbox.snapshot() for _ in range(SNAPSHOTS)]
    with pytest.raises(InfrastructureError, match=f"up to {SNAPSHOTS} states"):
        await sandbox.snapshot()
    for _ in range(2):
        await sandbox.forget(kept[3])
    assert kept[3] not in machine.states and len(machine.states) == SNAPSHOTS - 1
    with pytest.raises(UnknownName):
        await sandbox.restore(kept[3])
    assert await sandbox.snapshot() in machine.states
