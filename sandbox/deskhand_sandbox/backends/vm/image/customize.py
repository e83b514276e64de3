"""The part of a build that mmdebstrap runs, where the guest's files belong to its root.

`python -m …customize ROOT SCRATCH`: finishes the guest under ROOT, and writes its disk, kernel, initrd and
list of packages to SCRATCH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from deskhand_sandbox.backends.vm.image.archive import initrd
from deskhand_sandbox.backends.vm.image.recipe import EPOCH, GUEST, Recipe

USER = 1000
HOME = "home/agent"
FIRST_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
"""What it takes to see the disk."""
NAMESPACE = uuid.UUID("6f1f2c53-1d5a-4b7e-9d0c-5b0c7f4f7a10")
_DRAWN = ("var/cache/ldconfig/aux-cache", "var/lib/dbus/machine-id")
"""Files that hold times, or chance: programs do without them."""
_AT_EPOCH = {**os.environ, "E2FSPROGS_FAKE_TIME": str(EPOCH)}
_GTK3 = "[Settings]\ngtk-cursor-blink=0\ngtk-enable-animations=0\ngtk-icon-theme-name=Adwaita\n"
_GTK2 = 'gtk-cursor-blink = 0\ngtk-icon-theme-name = "Adwaita"\n'
_XTERM = "\n*VT100*faceName: DejaVu Sans Mono\n*VT100*faceSize: 10\n*VT100*cursorBlink: false\n"


def main(arguments: list[str]) -> None:
    """See above."""
    root, scratch = Path(arguments[0]), Path(arguments[1])
    recipe = Recipe.from_json((scratch / "recipe.json").read_text())
    _say("kernel")
    version = _install_kernel(recipe, root, scratch)
    _keep_modules(root, version, recipe.modules)
    _install_files(root)
    packages = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f=${Package} ${Version}\n"]
    (scratch / "packages.txt").write_bytes(subprocess.run(packages, check=True, capture_output=True).stdout)
    (scratch / "initrd.img").write_bytes(_initrd(root, version))
    _say("file system")
    with _without_mounts(root, scratch / "plain") as plain:
        _tidy(plain)
        _write_disk(recipe, plain, scratch / "disk.raw")
    _say("disk")


def _install_kernel(recipe: Recipe, root: Path, scratch: Path) -> str:
    """Unpack the kernel; installing it would make an initrd nobody boots. Returns its version."""
    environment = {**os.environ, "APT_CONFIG": os.environ["MMDEBSTRAP_APT_CONFIG"]}
    shown = subprocess.run(
        ["apt-cache", "depends", recipe.kernel], check=True, capture_output=True, text=True, env=environment
    ).stdout
    name = next(line.split()[-1] for line in shown.splitlines() if "Depends: linux-image-" in line)
    folder = scratch / "kernel"
    folder.mkdir()
    folder.chmod(0o777)
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", name]
    subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    # not into the guest: there /lib is a link, which unpacking would replace
    subprocess.run(["dpkg-deb", "-x", str(next(folder.glob("*.deb"))), str(folder)], check=True)
    version = name.removeprefix("linux-image-")
    (root / "usr/lib/modules").mkdir(exist_ok=True)
    shutil.move(folder / "lib/modules" / version, root / "usr/lib/modules" / version)
    shutil.copyfile(folder / f"boot/vmlinuz-{version}", scratch / "vmlinuz")
    shutil.rmtree(folder)
    return version


def _keep_modules(root: Path, version: str, wanted: Iterable[str]) -> None:
    folder = root / "usr/lib/modules" / version
    _chroot(root, "depmod", version)
    kept = {path for name in wanted for path in module_paths(folder, name)}
    for path in folder.rglob("*.ko*"):
        if str(path.relative_to(folder)) not in kept:
            path.unlink()
    _chroot(root, "depmod", version)


def module_paths(folder: Path, name: str) -> list[str]:
    """A module's file and those it needs, needed ones first, below the folder; none where it is built in."""
    dependencies: dict[str, list[str]] = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, needed = line.partition(":")
        dependencies[path] = needed.split()
    for path, needed in dependencies.items():
        if Path(path).name.partition(".")[0].replace("-", "_") == name:
            return [*reversed(needed), path]
    return []


def _initrd(root: Path, version: str) -> bytes:
    folder = root / "usr/lib/modules" / version
    order = list(dict.fromkeys(path for name in FIRST_MODULES for path in module_paths(folder, name)))
    files: dict[str, bytes | None] = {"bin": None, "modules": None}
    files["bin/busybox"] = (root / "bin/busybox").read_bytes()
    files["init"] = (GUEST / "initrd.sh").read_bytes()
    for path in order:
        files[f"modules/{Path(path).name}"] = (folder / path).read_bytes()
    files["modules/order"] = "".join(f"{Path(path).name}\n" for path in order).encode()
    return initrd(files)


def _install_files(root: Path) -> None:
    opt = root / "opt/deskhand"
    opt.mkdir(parents=True)
    for name in ("agent.py", "programs.py", "screen.py", "xorg.conf"):
        shutil.copyfile(GUEST / name, opt / name)
    shutil.copyfile(GUEST / "start.sh", opt / "start")
    (opt / "start").chmod(0o755)
    _append(root / "etc/passwd", f"agent:x:{USER}:{USER}:agent:/{HOME}:/bin/bash\n")
    _append(root / "etc/group", f"agent:x:{USER}:\n")
    _append(root / "etc/shadow", "agent:!:19700:0:99999:7:::\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost desk\n::1 localhost\n")
    (root / "etc/hostname").write_text("desk\n")
    (root / "etc/machine-id").write_text("0" * 31 + "1\n")
    _append(root / "etc/X11/app-defaults/XTerm", _XTERM)
    home = root / HOME
    shutil.copytree(root / "etc/skel", home, dirs_exist_ok=True)
    (home / ".config/gtk-3.0").mkdir(parents=True)
    (home / ".config/gtk-3.0/settings.ini").write_text(_GTK3)
    (home / ".gtkrc-2.0").write_text(_GTK2)
    (home / "Documents").mkdir()
    for path in (home, *home.rglob("*")):
        os.chown(path, USER, USER)


@contextmanager
def _without_mounts(root: Path, place: Path) -> Generator[Path]:
    """The guest's files at another place, without what mmdebstrap has mounted among them."""
    place.mkdir()
    subprocess.run(["mount", "--bind", str(root), str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _tidy(root: Path) -> None:
    """What differs from build to build, and what nobody reads."""
    for pattern in ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/log/*.log", "var/log/apt/*"):
        for path in root.glob(pattern):
            path.unlink()
    for path in (*root.glob("var/lib/apt/lists/*"), *root.glob("tmp/*"), *map(root.joinpath, _DRAWN)):
        if path.is_file():
            path.unlink()
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").write_text("")
    for path in root.rglob("*"):
        if path.lstat().st_mtime > EPOCH:
            os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


def _write_disk(recipe: Recipe, root: Path, disk: Path) -> None:
    name = uuid.uuid5(NAMESPACE, recipe.key())
    command = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-U", str(name)]
    command += [
        "-E",
        f"hash_seed={name},lazy_itable_init=0",
        "-d",
        str(root),
        str(disk),
        f"{recipe.disk_mb}M",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_AT_EPOCH)
    _set_times(disk)


def _set_times(disk: Path) -> None:
    """When a file was changed nobody can set, and when it was read changes by reading: done in the tables."""
    told = subprocess.run(["dumpe2fs", str(disk)], check=True, capture_output=True, text=True).stdout
    count = re.search(r"^Inode count:\s+(\d+)$", told, re.MULTILINE)
    assert count is not None
    used = set(range(1, int(count[1]) + 1))
    for line in re.findall(r"^\s+Free inodes: (\d.*)$", told, re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", line):
            used -= set(range(int(first), int(last or first) + 1))
    lines = (
        f"set_inode_field <{number}> {name}\n"
        for number in sorted(used)
        for name in (f"ctime @{EPOCH}", "ctime_extra 0", f"atime @{EPOCH}", "atime_extra 0")
    )
    subprocess.run(
        ["debugfs", "-w", "-f", "-", str(disk)],
        input="".join(lines),
        check=True,
        capture_output=True,
        text=True,
        env=_AT_EPOCH,
    )


def _chroot(root: Path, *command: str) -> None:
    subprocess.run(["chroot", str(root), *command], check=True)


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _say(stage: str) -> None:
    print(f"deskhand: {stage}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
