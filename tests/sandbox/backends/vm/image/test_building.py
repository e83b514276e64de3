from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm.image import RECIPE, build, find
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxTimeout

SmallDisk = Callable[[Path, str], AbstractContextManager[None]]
real = pytest.mark.skipif(shutil.which("mmdebstrap") is None, reason="mmdebstrap is not installed")
FILES = ("disk.qcow2", "vmlinuz", "initrd.img", "packages.txt")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "deskhand/images"


def programs(folder: Path, **scripts: str) -> None:
    """Programs of those names that do as their scripts say."""
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


def test_an_image_is_found_only_whole(cache: Path) -> None:
    folder = cache / RECIPE.key()
    folder.mkdir(parents=True)
    for name in FILES:
        assert find() is None
        (folder / name).touch()
    image = find()
    assert image is not None and image.agent and image.disk == folder / "disk.qcow2"
    assert build() == image


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building._search_path", lambda: str(tmp_path))
    with pytest.raises(BackendMissing, match=r"mmdebstrap.*make setup"):
        build()


@pytest.mark.parametrize(
    ("user", "said"), [(0, "mmdebstrap, mke2fs"), (1000, "newuidmap without root, .*subuid")]
)
def test_without_root_a_namespace_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, said: str
) -> None:
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building._search_path", lambda: str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(BackendMissing, match=said) as missing:
        build()
    assert ("subuid" in str(missing.value)) == bool(user)


def test_a_failed_build_says_why_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quiet = dict.fromkeys(("mke2fs", "apt-get"), "exit 0")
    programs(tmp_path / "bin", mmdebstrap="echo 'E: no such suite' >&2; exit 3", **quiet)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building._search_path", lambda: path)
    with pytest.raises(InfrastructureError, match=r"exit status 3:\nE: no such suite"):
        build()
    assert [each.name for each in cache.iterdir()] == [f"{RECIPE.key()}.lock"]


def test_too_little_room_is_said_before_anything_is_done(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_disk: SmallDisk
) -> None:
    programs(tmp_path / "bin", **dict.fromkeys(("mmdebstrap", "mke2fs", "apt-get"), "exit 1"))
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building._search_path", lambda: path)
    with small_disk(cache, "1m"):
        with pytest.raises(InfrastructureError, match=r"building an image takes 4096 MiB in .*, and . are "):
            build()
        assert [each.suffix for each in cache.iterdir()] == [".lock"]


@pytest.mark.slow
@real
def test_a_disk_that_fills_up_stops_a_build_which_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, small_disk: SmallDisk
) -> None:
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building.ROOM_MB", 0)
    with small_disk(cache, "100m"):
        with pytest.raises(InfrastructureError, match=r"mmdebstrap failed with exit status"):
            build()
        assert [each.suffix for each in cache.iterdir()] == [".lock"]
        assert not [line for line in Path("/proc/mounts").read_text().splitlines() if f"{cache}/" in line]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@real
def test_two_builds_make_the_same_bytes(tmp_path: Path) -> None:
    images = [build(folder=tmp_path / name) for name in ("one", "two")]
    kernels = {image.kernel.read_bytes() for image in images if image.kernel is not None}
    initrds = {image.initrd.read_bytes() for image in images if image.initrd is not None}
    assert len(kernels) == 1 and len(initrds) == 1
    compared = subprocess.run(["cmp", *(str(image.disk) for image in images)], capture_output=True, text=True)
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_a_build_that_hangs_is_ended_at_its_deadline(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    quiet = dict.fromkeys(("mke2fs", "apt-get"), "exit 0")
    programs(tmp_path / "bin", mmdebstrap="sleep 60", **quiet)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building._search_path", lambda: path)
    monkeypatch.setattr("deskhand_sandbox.backends.vm.image.building.DEADLINE_S", 0.3)
    with pytest.raises(SandboxTimeout, match="longer than"):
        build()
    assert [each.name for each in cache.iterdir()] == [f"{RECIPE.key()}.lock"]
