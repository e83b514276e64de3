from __future__ import annotations

import importlib.util
import shutil

import pytest

from deskhand_platform.bench.sandbox.vm import bench_vm
from deskhand_sandbox.backends.vm.image import find


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    shutil.which("qemu-system-x86_64") is None
    or importlib.util.find_spec("libvirt") is None
    or find() is None,
    reason="the golden image is not built",
)
async def test_boots_clones_and_resets_are_measured_in_turns() -> None:
    said: list[str] = []
    figures = {each.name: each for each in await bench_vm(2, 0, said.append)}
    names = {f"vm_{what}_ms_p{share}" for what in ("boot", "clone", "rewind") for share in (50, 95, 99)}
    assert set(figures) == {*names, "vm_reset_vs_boot", "vm_clone_vs_boot"}
    assert len(said) == 2 and all("boot" in line for line in said)
    for name in ("vm_reset_vs_boot", "vm_clone_vs_boot"):
        figure = figures[name]
        assert figure.low is not None and figure.high is not None
        assert 0 < figure.low <= figure.value <= figure.high < 1
