"""What confined programs may take: real control groups, real resource limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskhand_sandbox.isolation import Confinement, Limits
from deskhand_sandbox.isolation.limits import ControlGroup

SMALL = Limits(memory_mb=64, processes=24, file_mb=2)
HOG = "x = bytearray(256 << 20)\nprint(len(x))"
BOMB = "for i in $(seq 60); do sleep 5 & done; echo still here"


def groups_can_be_made() -> bool:
    group = ControlGroup.make(SMALL)
    if group is None:
        return False
    group.remove()
    return True


@pytest.fixture(params=["group", "resource limits"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Confinement:
    """A confinement with small limits, kept by either means."""
    if request.param == "group":
        if not groups_can_be_made():
            pytest.skip("this process may not make control groups")
    else:
        monkeypatch.setattr(ControlGroup, "make", lambda _limits: None)
    folder = tmp_path / "place"
    folder.mkdir()
    made = Confinement(folder, SMALL)
    made.prepare()
    return made


async def test_memory_is_bounded(place: Confinement) -> None:
    code, out, _ = await place.run(("/usr/bin/python3", "-c", HOG), timeout_s=120)
    assert code and not out
    assert (await place.run(("echo", "next"), timeout_s=120))[1] == b"next\n"
    place.remove()


async def test_files_are_bounded(place: Confinement) -> None:
    await place.run(("sh", "-c", "yes > big"), timeout_s=120)
    assert (place.folder / "home/big").stat().st_size == SMALL.file_mb << 20
    place.remove()


async def test_processes_are_bounded(place: Confinement) -> None:
    if place.command("true")[0] != "sh" and os.geteuid() == 0:
        # the kernel exempts root from this one
        assert f"--nproc={SMALL.processes}" in place.command("true")
        return
    _, _, err = await place.run(("bash", "-c", BOMB), timeout_s=120)
    assert b"fork" in err
    place.remove()


async def test_nothing_is_left_of_a_group(tmp_path: Path) -> None:
    group = ControlGroup.make(SMALL)
    if group is None:
        pytest.skip("this process may not make control groups")
    assert all(folder.is_dir() for folder in group.folders)
    dead = group.folders[0].parent / "deskhand-999999999-0"  # of a process that is gone
    dead.mkdir()
    group.remove()
    group.remove()
    assert not any(folder.exists() for folder in group.folders)
    again = ControlGroup.make(SMALL)
    assert again is not None
    again.remove()
    assert not dead.exists()
