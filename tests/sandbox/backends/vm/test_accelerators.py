from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm import accelerators
from deskhand_sandbox.backends.vm.accelerators import choose, runs_guests
from deskhand_sandbox.backends.vm.image import GoldenImage
from deskhand_sandbox.errors import BackendMissing

QEMU = """#!/bin/sh
echo "SeaBIOS"
case "$2" in
  kvm) exec sleep 60 ;;
  tcg) echo "[    1.0] Run /init as init process"; exec sleep 60 ;;
  *) exit 1 ;;
esac
"""
"""A QEMU whose guests hang on KVM, as on a machine whose KVM lies."""


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoldenImage:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/qemu-system-x86_64").write_text(QEMU)
    (tmp_path / "bin/qemu-system-x86_64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(accelerators, "KVM", tmp_path / "kvm")
    monkeypatch.setattr(accelerators, "TRIAL_S", 0.5)
    place = tmp_path / "image"
    return GoldenImage(disk=place, kernel=place, initrd=place, key="k", agent=True)


async def test_a_trial_is_a_kernel_that_comes_up(image: GoldenImage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert image.kernel is not None and image.initrd is not None
    assert not await runs_guests("kvm", image.kernel, image.initrd)
    monkeypatch.setattr(accelerators, "TRIAL_S", 120.0)
    assert await runs_guests("tcg", image.kernel, image.initrd)
    assert not await runs_guests("none", image.kernel, image.initrd)


async def test_kvm_that_opens_and_runs_nothing_is_not_chosen(image: GoldenImage, tmp_path: Path) -> None:
    assert await choose("auto", image) == "qemu"
    assert not (tmp_path / "deskhand/accelerator.json").exists()  # there is no such device
    (tmp_path / "kvm").touch()
    assert await choose("auto", image) == "qemu"
    with pytest.raises(BackendMissing, match="accelerator='emulation'"):
        await choose("kvm", image)
    assert await choose("emulation", image) == "qemu"


async def test_what_is_found_out_is_kept_until_the_next_boot(
    image: GoldenImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def trial(accelerator: str, _kernel: Path, _initrd: Path) -> bool:
        tried.append(accelerator)
        return True

    monkeypatch.setattr(accelerators, "runs_guests", trial)
    (tmp_path / "kvm").touch()
    assert [await choose("auto", image), await choose("kvm", image)] == ["kvm", "kvm"]
    assert tried == ["kvm"]
    monkeypatch.setattr(accelerators, "boot_id", lambda: "another boot")
    await choose("auto", image)
    assert tried == ["kvm", "kvm"]


async def test_without_a_kernel_to_try_kvm_is_used_only_when_asked_for(
    image: GoldenImage, tmp_path: Path
) -> None:
    (tmp_path / "kvm").touch()
    assert await choose("auto", None) == "qemu"
    assert await choose("kvm", None) == "kvm"
