"""A network for guests, apart from this machine's: nothing of its loopback, and of the rest what it reaches.

QEMU's own network stack (libslirp) opens a guest's connections as sockets of QEMU's process, and a guest's
10.0.2.2 is that process's loopback, which no option of QEMU 7.2 turns off. So QEMU runs in a network
namespace whose loopback is empty and whose way out is slirp4netns, told to lead nowhere near this machine's.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.isolation.network import NAME_SERVER

NAMESPACES, NAMES = "DESKHAND_NAMESPACES", "DESKHAND_RESOLV_CONF"
"""Where the emulator finds the namespaces to enter, and what it reads in place of /etc/resolv.conf, as guests
ask for names where it does; without the first, it enters none."""
_HOLD = "echo >/dev/fd/{} && exec cat </dev/fd/{}"
_EMULATOR = """#!/bin/sh
# {version}
if [ -n "${namespaces}" ]; then
  # with the mounts that there are now: a namespace made earlier would lack what was mounted since
  set -- {nsenter} --preserve-credentials "--user=${namespaces}/user" "--net=${namespaces}/net" -- \\
    {unshare} --mount -- sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "${names}" {qemu} "$@"
else
  set -- {qemu} "$@"
fi
exec "$@"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestNetwork:
    """Made by `GuestNetwork.open`; it ends with this process."""

    emulator: Path
    """A program that is QEMU, inside where its environment says so."""
    environment: Mapping[str, str]

    @classmethod
    def open(cls, folder: Path, kept: Path, *, qemu: str = "qemu-system-x86_64") -> GuestNetwork:
        """Make the namespaces, and a way out of them.

        Args:
            folder: of this process.
            kept: where the emulator is written, for later processes too: libvirt takes long to find out what
                one that it does not know can do.

        Raises:
            BackendMissing: a program for it is not installed, or this machine does not let it; says why.
        """
        program, nsenter, unshare, slirp = map(_found, (qemu, "nsenter", "unshare", "slirp4netns"))
        names = folder / "resolv.conf"
        names.write_text(f"nameserver {NAME_SERVER}\n")
        apart = [unshare, "--user", "--map-root-user", "--net", "--"]
        inside = _start(folder, lambda up, end: [*apart, "sh", "-c", _HOLD.format(up, end)])
        namespaces = f"/proc/{inside}/ns"
        words = [slirp, "--configure", "--mtu=65520", "--enable-sandbox", "--enable-seccomp"]
        words += ["--disable-host-loopback", f"--userns-path={namespaces}/user"]
        _start(folder, lambda up, end: [*words, f"--ready-fd={up}", f"--exit-fd={end}", str(inside), "tap0"])
        emulator = _emulator(kept, program, nsenter, unshare)
        environment = {NAMESPACES: namespaces, NAMES: str(names)}
        tried = subprocess.run(
            [emulator, "--version"], env={**os.environ, **environment}, capture_output=True, check=False
        )
        if tried.returncode:
            raise _none(tried.stderr.decode(errors="replace"))
        return cls(emulator=emulator, environment=environment)


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise BackendMissing(f"{name} is not installed: run `make setup`")
    return path


def _emulator(kept: Path, qemu: str, nsenter: str, unshare: str) -> Path:
    version = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    text = _EMULATOR.format(
        version=" ".join(version.split()), qemu=qemu, nsenter=nsenter, unshare=unshare, namespaces=NAMESPACES,
        names=NAMES,
    )  # fmt: skip
    place = kept / f"qemu-{blake3(text.encode()).hexdigest()[:12]}"
    if not place.exists():
        kept.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f"{place.name}.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(place)
    return place


def _start(folder: Path, command: Callable[[int, int], list[str]]) -> int:
    """Start a process that lives as long as this one; its number, once it is up.

    Args:
        command: of a descriptor on which it says that it is up, and of one that ends when it is to end.
    """
    (ready, up), (end, held) = os.pipe(), os.pipe()
    complaint = folder / "network.log"
    try:
        with complaint.open("wb") as said, os.fdopen(ready, "rb", buffering=0) as told:
            process = subprocess.Popen(
                command(up, end), stdin=subprocess.DEVNULL, stdout=said, stderr=said, pass_fds=(up, end)
            )
            os.close(up)
            is_up = bool(told.read(1))
    finally:
        os.close(end)
    atexit.register(_end, process, held, os.getpid())
    if not is_up:
        _end(process, held, os.getpid())
        raise _none(complaint.read_text(errors="replace"))
    return process.pid


def _none(complaint: str) -> BackendMissing:
    why = "; ".join(complaint.strip().splitlines()) or "it ended"
    return BackendMissing(f"guests get no network apart from this machine's: {why}")


def _end(process: subprocess.Popen[bytes], held: int, owner: int) -> None:
    if os.getpid() == owner and process.returncode is None:  # and no child that was forked and ends before it
        os.close(held)
        process.kill()
        process.wait()
