"""One platform per home folder: a kernel lock, which ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from deskhand_platform.errors import HomeInUse

LOCK_FILE = "serve.lock"


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """Who serves a home, and where."""

    pid: int
    url: str | None
    """None while it starts."""


class HomeLock:
    """A lock that is held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str | None) -> None:
        """Say where the platform listens, for this machine's own programs."""
        data = json.dumps(asdict(Serving(pid=os.getpid(), url=url))).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, data, 0)


@contextmanager
def hold(home: Path) -> Generator[HomeLock]:
    """Hold the home for the length of the block.

    Raises:
        HomeInUse: another platform holds it.
    """
    descriptor = os.open(home / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = _read(descriptor)
            who = f" (process {other.pid}{f', {other.url}' if other.url else ''})" if other else ""
            raise HomeInUse(
                f"another platform serves {home} already{who}; stop it, or set another DESKHAND_HOME"
            ) from error
        lock = HomeLock(descriptor)
        lock.announce(None)
        yield lock
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def serving(home: Path) -> Serving | None:
    """Who serves the home now; None when nobody does."""
    try:
        descriptor = os.open(home / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Serving | None:
    try:
        values = json.loads(os.pread(descriptor, 4096, 0))
        return Serving(pid=int(values["pid"]), url=values["url"])
    except (ValueError, KeyError):
        return None
