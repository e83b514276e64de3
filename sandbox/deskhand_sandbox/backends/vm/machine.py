"""One VM: its files, its domain, and what can be asked of it from outside."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from deskhand_sandbox.backends.vm import places
from deskhand_sandbox.backends.vm.connection import Connection
from deskhand_sandbox.backends.vm.domain import NETWORK, Hardware, domain_xml
from deskhand_sandbox.backends.vm.room import writing
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxDied
from deskhand_sandbox.vnc import new_password

CONSOLE_BYTES = 2000
_CLONE_FILE = 0x40049409
"""FICLONE: on file systems that can, a copy takes no time and no room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """What a screen showed."""

    width: int
    height: int
    pixels: bytes
    """Red, green and blue, row by row."""


class Machine:
    """Made by `Machine.start`."""

    def __init__(self, connection: Connection, hardware: Hardware, folder: Path) -> None:
        self._connection = connection
        self.hardware = hardware
        self.folder = folder
        self.name = f"{places.mark()}-{folder.name}"
        self.ended: str | None = None
        """Why it is gone; None while it lives."""
        self._domain: Any = None
        self._networked = False
        self._processors: list[Path] = []
        """What the kernel tells of the threads that run them."""

    @classmethod
    async def start(
        cls, connection: Connection, hardware: Hardware, disk: Path, *, host_loopback: bool = False
    ) -> Machine:
        """A machine that stands still, before its first instruction.

        Args:
            disk: copied; the machine writes to its own.
            host_loopback: its network, once it is plugged in, leads to this machine's loopback too.

        Raises:
            InfrastructureError: it cannot be made; says why, and nothing is left.
        """
        folder = connection.folder / "vms" / uuid.uuid4().hex[:8]
        machine = cls(connection, hardware, folder)
        try:
            with writing(folder):
                await asyncio.to_thread(_prepare, folder, disk)
            network = None if host_loopback else connection.network
            machine._networked = host_loopback or network is not None
            xml = domain_xml(hardware, machine.name, folder, vnc_password=new_password(), network=network)
            machine._domain = await connection.start(machine.name, xml, machine._has_ended)
            await machine.plug(connected=False)
        except BaseException:
            await machine.close()
            raise
        return machine

    @property
    def channel(self) -> Path:
        """The socket on which the guest's agent answers."""
        return self.folder / "agent.sock"

    @property
    def disk(self) -> Path:
        """Its disk, with the states kept in it."""
        return self.folder / "disk.qcow2"

    @property
    def vnc(self) -> Path:
        """The socket on which QEMU serves the screen; see `admit`."""
        return self.folder / "vnc.sock"

    async def admit(self, password: str) -> None:
        """Who says this password may see the screen from now on, and nobody else."""
        await self.tell("set_password", protocol="vnc", password=password)

    async def resume(self) -> None:
        """Let it run."""
        await self._connection.call(self._domain.resume)

    async def pause(self) -> None:
        """Let it stand still."""
        await self._connection.call(self._domain.suspend)

    async def save(self, tag: str) -> None:
        """Keep the whole state under a name, in its disk.

        Raises:
            InfrastructureError: it could not be kept: the disk is full.
        """
        await self._say(f"savevm {tag}")

    async def load(self, tag: str) -> None:
        """Go back to a kept state."""
        await self._say(f"loadvm {tag}")

    async def forget(self, tag: str) -> None:
        """Give up a kept state."""
        await self._say(f"delvm {tag}")

    async def plug(self, *, connected: bool) -> None:
        """Plug the network in, or pull it out; a disk of one's own has none.

        Raises:
            BackendMissing: it cannot be kept from this machine's loopback, and is not to reach that.
        """
        if connected and not self._networked:
            raise BackendMissing(
                "a VM with a network takes slirp4netns, user namespaces and libvirt inside this process; "
                "where guests may reach what this machine serves on its loopback, say host_loopback: true"
            )
        if not self.hardware.own_guest:
            return
        await self.tell("set_link", name=f"{NETWORK}-card", up=connected)

    async def send(self, *events: dict[str, object]) -> None:
        """Move pointer and keys: QEMU's input events."""
        await self.tell("input-send-event", events=list(events))

    async def tell(self, execute: str, **arguments: object) -> object:
        """A command of QEMU's monitor; what it returns.

        Raises:
            InfrastructureError: QEMU refuses it.
            SandboxDied: the machine is gone.
        """
        self._check()
        asked = json.dumps({"execute": execute, "arguments": arguments})
        told: dict[str, Any] = json.loads(await self._connection.command(self._domain, asked))
        if "error" in told:
            raise InfrastructureError(f"QEMU refuses {execute}: {told['error'].get('desc', told['error'])}")
        return told.get("return")

    async def busy(self) -> bool:
        """Whether its processors are at work now, or want to be: not halted. False where nothing tells."""
        if not self._processors:
            told = await self.tell("query-cpus-fast")
            assert isinstance(told, list)
            self._processors = [Path(f"/proc/{each['thread-id']}/stat") for each in cast("list[Any]", told)]
        try:
            return any(path.read_text().rpartition(")")[2].split()[0] == "R" for path in self._processors)
        except OSError:
            return False

    async def frame(self) -> Frame:
        """What the screen shows now."""
        path = self.folder / "frame.ppm"
        await self.tell("screendump", filename=str(path))
        return read_frame(await asyncio.to_thread(path.read_bytes))

    def console(self) -> str:
        """The last lines the guest wrote to its serial console."""
        try:
            data = (self.folder / "console.log").read_bytes()[-CONSOLE_BYTES:]
        except OSError:
            return ""
        lines = "".join(c for c in data.decode(errors="replace") if c == "\n" or c >= " ").splitlines()
        return "\n".join(line for line in lines if line.strip())

    async def close(self) -> None:
        """End it and remove its files; safe to call twice."""
        domain, self._domain = self._domain, None
        try:
            if domain is not None:
                await self._connection.end(domain)
        finally:
            self.ended = self.ended or "it was closed"
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def _say(self, words: str) -> None:
        self._check()
        said = (await self._connection.command(self._domain, words, human=True)).strip()
        if said:
            raise InfrastructureError(f"QEMU failed at {words.split()[0]!r}: {said}")

    def _check(self) -> None:
        if self.ended is not None or self._domain is None:
            raise SandboxDied(f"the VM is gone: {self.ended or 'it was never started'}")

    def _has_ended(self, reason: str) -> None:
        self.ended = reason


def read_frame(data: bytes) -> Frame:
    """A picture in the form "PPM", 8 bits a colour, as QEMU writes it.

    Raises:
        InfrastructureError: it is not whole.
    """
    head = data.split(b"\n", 3)
    if len(head) == 4 and head[0] == b"P6":
        width, height = map(int, head[1].split())
        if len(head[3]) == width * height * 3:
            return Frame(width=width, height=height, pixels=head[3])
    raise InfrastructureError(f"QEMU wrote a picture that is not whole ({len(data)} bytes)")


def _prepare(folder: Path, disk: Path) -> None:
    folder.mkdir(parents=True, mode=0o711)
    copy(disk, folder / "disk.qcow2")
    (folder / "disk.qcow2").chmod(0o600)


def copy(source: Path, target: Path) -> None:
    """Copy a file, sharing its blocks where the file system can."""
    with source.open("rb") as read, target.open("wb") as write:
        try:
            fcntl.ioctl(write.fileno(), _CLONE_FILE, read.fileno())
            return
        except OSError:
            size, at = os.fstat(read.fileno()).st_size, 0
        while at < size:
            sent = os.sendfile(write.fileno(), read.fileno(), at, size - at)
            if sent == 0:
                raise OSError(5, "the file ended early")
            at += sent
