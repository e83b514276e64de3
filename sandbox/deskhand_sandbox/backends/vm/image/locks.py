"""One at a time, across processes; a lock dies with the process that holds it."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from deskhand_sandbox.errors import SandboxTimeout

POLL_S = 0.1


@contextmanager
def locked(path: Path, wait_s: float, waiting: Callable[[], None] | None = None) -> Generator[None]:
    """Hold the lock of that name for the length of the block.

    Args:
        waiting: called once where another process holds it.

    Raises:
        SandboxTimeout: another held it all the time.
    """
    deadline = time.monotonic() + wait_s
    with path.open("a") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if not told and waiting is not None:
                waiting()
            told = True
            if time.monotonic() > deadline:
                raise SandboxTimeout(f"another process held {path} for {wait_s:g} s")
            time.sleep(POLL_S)
        yield
