from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm import states
from deskhand_sandbox.backends.vm.domain import Hardware
from deskhand_sandbox.backends.vm.image import GoldenImage

HARDWARE = Hardware(
    accelerator="qemu",
    memory_mb=512,
    cpus=1,
    size_px=(1280, 720),
    translation_cache_mb=64,
    kernel=Path("/images/vmlinuz"),
    initrd=Path("/images/initrd.img"),
)
IMAGE = GoldenImage(
    disk=Path("/images/disk"), kernel=HARDWARE.kernel, initrd=HARDWARE.initrd, key="one", agent=True
)


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_qemu_version", lambda: "QEMU emulator version 7.2.22")


def test_a_state_is_named_by_all_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    key = states.state_key(IMAGE, HARDWARE)
    assert key == states.state_key(IMAGE, HARDWARE)
    others = [
        states.state_key(replace(IMAGE, key="two"), HARDWARE),
        states.state_key(IMAGE, replace(HARDWARE, memory_mb=640)),
        states.state_key(IMAGE, replace(HARDWARE, size_px=(1024, 768))),
        states.state_key(IMAGE, replace(HARDWARE, accelerator="kvm")),
    ]
    monkeypatch.setattr(states, "_qemu_version", lambda: "QEMU emulator version 8")
    others.append(states.state_key(IMAGE, HARDWARE))
    assert len({key, *others}) == 6


def test_states_nobody_used_for_long_are_removed(tmp_path: Path) -> None:
    told = json.dumps({"size_px": [640, 480], "boot_s": 9.5})
    for name in ("used", "unused"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state.json").write_text(told)
        long_ago = time.time() - states.KEPT_S - 60
        os.utime(tmp_path / name / "state.json", (long_ago, long_ago))
    found = states._find(tmp_path / "used")
    assert found is not None and found.size_px == (640, 480) and found.boot_s == 9.5
    states._forget_old(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["used"]
    assert states._find(tmp_path / "unused") is None
