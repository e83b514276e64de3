"""Builds the golden image: mmdebstrap, a file system, a qcow2; once for each recipe."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from deskhand_sandbox.backends.vm.image.locks import locked
from deskhand_sandbox.backends.vm.image.recipe import (
    EPOCH,
    RECIPE,
    GoldenImage,
    Recipe,
    disk_key,
    image_folder,
)
from deskhand_sandbox.backends.vm.room import check_room, writing
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxTimeout

PROGRAMS = ("mmdebstrap", "mke2fs", "qemu-img", "apt-get", "dpkg-deb")
DEADLINE_S = 1800.0
ROOM_MB = 4096
"""What building takes of the disk for a while."""
_END_S = 10.0
_FILES = ("disk.qcow2", "vmlinuz", "initrd.img", "packages.txt")
_STAGES = (
    ("mmdebstrap", "asking Debian for its list of packages", 0.01),
    ("running apt-get update", "asking Debian for its list of packages", 0.02),
    ("downloading packages with apt", "downloading the base of the system", 0.05),
    ("extracting archives", "unpacking the base of the system", 0.15),
    ("installing essential packages", "setting up the base of the system", 0.2),
    ("installing remaining packages", "installing the screen and the applications", 0.35),
    ("deskhand: kernel", "adding the kernel", 0.75),
    ("deskhand: file system", "writing the file system", 0.85),
    ("deskhand: disk", "writing the disk", 0.9),
)
"""What mmdebstrap or our own part of it says -> what is told, and how far that is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far something that takes a while has come."""

    said: str
    part: float
    """0 to 1."""
    seconds: float
    """Since it began."""


Tell = Callable[[Progress], None]


def find(recipe: Recipe = RECIPE, *, folder: Path | None = None) -> GoldenImage | None:
    """The image of a recipe, where it has been built; see `build`."""
    folder = (folder or image_folder()) / recipe.key()
    if not all((folder / name).is_file() for name in _FILES):
        return None
    return GoldenImage(
        disk=folder / "disk.qcow2",
        kernel=folder / "vmlinuz",
        initrd=folder / "initrd.img",
        key=disk_key(folder / "disk.qcow2"),
        agent=True,
    )


def build(
    progress: Tell | None = None,
    *,
    recipe: Recipe = RECIPE,
    again: bool = False,
    folder: Path | None = None,
) -> GoldenImage:
    """The image of a recipe; built where there is none yet.

    Two builders at once: the second waits for the first and takes its image. A build that is stopped leaves
    nothing behind.

    Args:
        progress: told how far it is, from this thread.
        again: build it even where it is there.
        folder: it is kept below; None: the user's cache.

    Raises:
        BackendMissing: a program is not installed.
        InfrastructureError: it failed, or there is no room; says the last words.
        SandboxTimeout: it took longer than DEADLINE_S.
    """
    began = time.monotonic()

    def tell(said: str, part: float) -> None:
        if progress is not None:
            progress(Progress(said=said, part=part, seconds=time.monotonic() - began))

    folder = folder or image_folder()
    if not again and (found := find(recipe, folder=folder)) is not None:
        return found
    _check_programs()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        key = recipe.key()
        with locked(folder / f"{key}.lock", DEADLINE_S, lambda: tell("waiting for another build", 0.0)):
            if again or find(recipe, folder=folder) is None:
                _make_in(folder, recipe, tell)
    found = find(recipe, folder=folder)
    if found is None:
        raise InfrastructureError(f"the image built in {folder / key} is not whole")
    tell("the image is built", 1.0)
    return found


def remove(folder: Path) -> None:
    """Take a build's folder away; never through a mount that is left in it."""
    mounts = Path("/proc/self/mounts")
    text = mounts.read_text() if mounts.exists() else ""
    inside = [line.split()[1] for line in text.splitlines() if line.split()[1].startswith(f"{folder}/")]
    for place in sorted(inside, reverse=True):
        subprocess.run(["umount", place], capture_output=True, check=False)
    if inside and any(f"{folder}/" in line for line in mounts.read_text().splitlines()):
        raise InfrastructureError(f"{folder} has mounts in it that cannot be undone: {', '.join(inside)}")
    shutil.rmtree(folder, ignore_errors=True)


def _make_in(folder: Path, recipe: Recipe, tell: Callable[[str, float], None]) -> None:
    """Build it in a draft beside the others, and put it in its place in one move."""
    key = recipe.key()
    for left in folder.glob(f".{key}-*"):  # of a build that was killed: the lock is ours
        remove(left)
    check_room(folder, ROOM_MB, "building an image")
    draft = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=folder))
    try:
        _make(recipe, draft, tell)
        kept = folder / key
        if kept.exists():
            kept.rename(draft / "replaced")
        (draft / "whole").rename(kept)
    finally:
        remove(draft)


def _make(recipe: Recipe, draft: Path, tell: Callable[[str, float], None]) -> None:
    whole, scratch = draft / "whole", draft / "scratch"
    for each in (whole, scratch):
        each.mkdir()
        each.chmod(0o777)  # without root, the user inside the namespace is another one
    (scratch / "recipe.json").write_text(recipe.to_json())
    hook = f'"{sys.executable}" -m deskhand_sandbox.backends.vm.image.customize "$1" "{scratch}"'
    command = ["mmdebstrap", "--variant=apt", "--format=null", f"--architectures={recipe.architecture}"]
    command += [f"--include={','.join(recipe.packages)}", f"--customize-hook={hook}"]
    for path in ("usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/help/*"):
        command.append(f"--dpkgopt=path-exclude=/{path}")
    command += ['--aptopt=Acquire::Languages "none"', recipe.suite, "/dev/null"]
    _run(command, scratch, tell)
    tell("writing the disk", 0.9)
    disk = whole / "disk.qcow2"
    _run(
        ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(scratch / "disk.raw"), str(disk)],
        scratch,
        tell,
    )
    for name in ("vmlinuz", "initrd.img", "packages.txt"):
        shutil.copyfile(scratch / name, whole / name)
    for name in _FILES:
        (whole / name).chmod(0o444)
    whole.chmod(0o755)


def _run(command: list[str], scratch: Path, tell: Callable[[str, float], None]) -> None:
    """Run a program to its end, telling what it says."""
    none, pipe = subprocess.DEVNULL, subprocess.PIPE
    last: list[str] = []
    reached = 0.0
    with subprocess.Popen(
        command,
        stdin=none,
        stdout=none,
        stderr=pipe,
        text=True,
        errors="replace",
        env=_environment(scratch),
        start_new_session=True,
    ) as process:
        watchdog = _Watchdog(process)
        assert process.stderr is not None
        try:
            for line in _lines(process.stderr):
                last = [*last[-19:], line]
                for mark, said, part in _STAGES:
                    if mark in line and part > reached:
                        tell(said, part)
                        reached = part
            code = process.wait()
        except BaseException:
            watchdog.end()
            raise
        finally:
            watchdog.stop()
    if watchdog.late:
        raise SandboxTimeout(f"{command[0]} took longer than {DEADLINE_S:g} s")
    if code:
        said = "\n".join(last[-8:])
        raise InfrastructureError(f"{command[0]} failed with exit status {code}:\n{said}")


def _lines(stream: IO[str]) -> Iterator[str]:
    for line in stream:
        if line.strip():
            yield line.strip()


class _Watchdog:
    """Ends a program and its children at the deadline."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.late = False
        self._timer = threading.Timer(DEADLINE_S, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def end(self) -> None:
        """mmdebstrap undoes its mounts when it is asked to end."""
        for number, grace_s in ((signal.SIGTERM, _END_S), (signal.SIGKILL, _END_S)):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
                return

    def _expire(self) -> None:
        self.late = True
        self.end()


def _environment(scratch: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    # where this package is found, for the part of it that mmdebstrap runs
    root = str(Path(__file__).parents[4])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    own = {"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": str(EPOCH), "PYTHONPATH": path}
    return {**kept, **own, "PATH": _search_path()}


def _search_path() -> str:
    """Where programs are looked for; those of root, too."""
    return os.pathsep.join((os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"))


def _check_programs() -> None:
    # without root, mmdebstrap is root in a namespace of its own
    wanted = (*PROGRAMS, "newuidmap") if os.geteuid() else PROGRAMS
    if missing := [name for name in wanted if shutil.which(name, path=_search_path()) is None]:
        why = f"building an image needs {', '.join(missing)}"
        if "newuidmap" in missing:
            why += " without root, and a range of your user's in /etc/subuid and /etc/subgid"
        raise BackendMissing(
            f"{why}: run `make setup`, or on Debian apt-get install mmdebstrap e2fsprogs qemu-utils uidmap"
        )
