"""Processes by an identity that is never reused, read from /proc; on systems without /proc there are none."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A process, not merely its number."""

    pid: int
    started: int
    """Clock ticks since boot: with the pid it names one process of one boot."""
    command: str
    """Its command line, for a person and as a second look before it is ended."""


def boot_id() -> str:
    """Name of this boot of the machine; empty where there is no /proc."""
    path = PROC / "sys/kernel/random/boot_id"
    return path.read_text().strip() if path.exists() else ""


def find(pid: int) -> Process | None:
    """The process with that number now; None when there is none, or it has ended and is not yet reaped."""
    stat = _stat(pid)
    if stat is None or stat[0] in ("Z", "X"):
        return None
    try:
        command = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    return Process(
        pid=pid, started=stat[2], command=command.replace(b"\0", b" ").decode(errors="replace").strip()
    )


def is_running(process: Process) -> bool:
    """Whether that very process still runs."""
    now = find(process.pid)
    return now is not None and now.started == process.started


def descendants(pid: int) -> dict[int, Process]:
    """Children of `pid`, their children and so on, by pid."""
    children: dict[int, list[int]] = {}
    for each in _pids():
        stat = _stat(each)
        if stat is not None:
            children.setdefault(stat[1], []).append(each)
    found: dict[int, Process] = {}
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found and (process := find(child)) is not None:
                found[child] = process
                waiting.append(child)
    return found


def everything() -> list[Process]:
    """Every process there is."""
    return [process for pid in _pids() if (process := find(pid)) is not None]


def marked(name: str, value: str) -> list[Process]:
    """Processes started with that environment variable, as far as we may read environments."""
    entry = f"{name}={value}".encode()
    found: list[Process] = []
    for pid in _pids():
        try:
            environment = (PROC / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if entry in environment.split(b"\0") and (process := find(pid)) is not None:
            found.append(process)
    return found


def end(processes: Iterable[Process], *, grace_s: float = 3.0) -> list[Process]:
    """End processes and what they started: SIGTERM, and SIGKILL to those still there after `grace_s`.

    Returns:
        The processes that were running and were ended.
    """
    targets = {process.pid: process for process in processes if is_running(process)}
    for root in list(targets.values()):
        targets |= descendants(root.pid)
    with contextlib.ExitStack() as stack:
        handles: dict[int, Process] = {}
        for process in targets.values():
            handle = _open(process)
            if handle is not None:
                stack.callback(os.close, handle)
                handles[handle] = process
        _signal(handles, signal.SIGTERM)
        left = _wait(set(handles), grace_s)
        _signal(left, signal.SIGKILL)
        _wait(left, grace_s)
        return list(handles.values())


def _open(process: Process) -> int | None:
    """A handle on that very process, safe against its number being given to another."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return None
    if is_running(process):
        return handle
    os.close(handle)
    return None


def _signal(handles: Iterable[int], number: signal.Signals) -> None:
    for handle in handles:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)


def _wait(handles: set[int], timeout_s: float) -> set[int]:
    """Wait for the end of processes; returns the handles of those that still run."""
    left = set(handles)
    poll = select.poll()
    for handle in left:
        poll.register(handle, select.POLLIN)
    deadline_s = time.monotonic() + timeout_s
    while left and (remaining_s := deadline_s - time.monotonic()) > 0:
        for handle, _ in poll.poll(remaining_s * 1000):
            poll.unregister(handle)
            left.discard(handle)
    return left


def _pids() -> list[int]:
    try:
        return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]
    except FileNotFoundError:
        return []


def _stat(pid: int) -> tuple[str, int, int] | None:
    """State, parent and start time; None when there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces and parentheses
    return fields[0], int(fields[1]), int(fields[19])
