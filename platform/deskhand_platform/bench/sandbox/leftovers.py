"""What a sandbox host has running, kind by kind, and what of it is still there when the host has ended."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deskhand_platform.bench.sandbox.traces import Traces
from deskhand_sandbox.backends.vm import places
from deskhand_sandbox.manager import processes as running
from deskhand_sandbox.manager.processes import Process

LISTENING = "0A"
"""State of a socket in /proc/net/tcp."""
LOCKS = Path("/tmp")
"""Where X servers write who has which display, those that run in no confinement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftovers:
    """What one host has started; a killed process's children are found although they lost their parent."""

    traces: Traces
    journals: Path
    """Folder of its journal."""
    locks_before: frozenset[Path] = field(default_factory=lambda: frozenset(LOCKS.glob(".X*-lock")))
    ports: dict[str, int] = field(default_factory=dict[str, int])
    """Listening sockets it was seen to have, by inode -> port."""

    @classmethod
    def of(cls, pid: int, state_folder: Path) -> Leftovers:
        """Of the host whose journal lies there."""
        journal = json.loads(next(state_folder.glob("manager-*.json")).read_text())
        traces = Traces(pid=pid, mark=journal["mark"], folder=Path(journal["scratch"]))
        return cls(traces=traces, journals=state_folder)

    def processes(self) -> list[Process]:
        """What runs now."""
        found = {each.pid: each for each in self.traces.processes()}
        for folder in self._vm_folders():
            found |= {each.pid: each for each in places.running_in(folder)}
        return list(found.values())

    def note_ports(self) -> None:
        """Remember which sockets the host and what it runs listen on now."""
        listening = listening_sockets()
        for pid in (self.traces.pid, *(each.pid for each in self.processes())):
            self.ports.update((inode, listening[inode]) for inode in sockets_of(pid) & listening.keys())

    def left(self, timeout_s: float) -> dict[str, list[str]]:
        """What there still is, by sort, after it has had time to go. Blocks."""
        self.traces.ended(timeout_s)
        commands = [each.command for each in self.processes()]
        domains = [each for each in commands if "qemu-system" in each]
        displays = [each for each in commands if "Xvfb" in each]
        listening = listening_sockets()
        return {
            "processes": [each for each in commands if each not in domains and each not in displays],
            "domains": domains,
            "displays": displays + [str(each) for each in self._stale_locks()],
            "ports": [str(port) for inode, port in self.ports.items() if inode in listening],
            "temporary folders": [
                str(each)
                for each in (*self.traces.files(), self.traces.folder, *self._vm_folders())
                if each.exists()
            ],
            "control groups": [str(each) for each in self.traces.groups()],
            "journals": [str(each) for each in self.journals.glob("manager-*.json")],
        }

    def _vm_folders(self) -> list[Path]:
        return list(places.base_folder(None).glob(f"{places.PREFIX}*-{self.traces.pid}-*"))

    def _stale_locks(self) -> list[Path]:
        """New ones, of X servers that ended without taking their lock away."""
        found: list[Path] = []
        for lock in set(LOCKS.glob(".X*-lock")) - self.locks_before:
            with contextlib.suppress(OSError, ValueError):
                if running.find(int(lock.read_text())) is None:
                    found.append(lock)
        return found


def listening_sockets() -> Mapping[str, int]:
    """Every TCP socket that listens on this machine: inode -> port."""
    found: dict[str, int] = {}
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING:
                found[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    return found


def sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets a process has open; none when it is gone."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for each in (running.PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def counts(left: Mapping[str, Sequence[str]]) -> str:
    """For a person: how many of each sort."""
    return ", ".join(f"{len(found)} {what}" for what, found in left.items())
