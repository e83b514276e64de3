"""Temporary servers end with whoever started them, and nothing of them is left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from deskhand_flywheel.temporary_postgresql import PREFIX, postgresql_server
from deskhand_sandbox.manager import processes
from deskhand_sandbox.manager.processes import Process


@pytest.fixture
def temporary(temporary: Path) -> Path:
    # the server runs as a user of its own where the tests are root's
    temporary.chmod(0o711)
    return temporary


SERVES = """
import time
from deskhand_flywheel.temporary_postgresql import postgresql_server
with postgresql_server() as folder:
    print(folder, flush=True)
    time.sleep(1000)
"""


@contextmanager
def serving() -> Generator[tuple[subprocess.Popen[str], Path, Process]]:
    """A process with a server: the process, the server's folder, and the server."""
    with subprocess.Popen([sys.executable, "-c", SERVES], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        folder = Path(started.stdout.readline().strip())
        number = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        server = processes.find(number)
        assert server is not None
        try:
            yield started, folder, server
        finally:
            started.kill()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_a_server_answers_and_leaves_nothing(temporary: Path) -> None:
    with postgresql_server() as folder:
        with psycopg.connect(host=str(folder), user="deskhand", dbname="postgres") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_a_server_ends_with_a_killed_owner(temporary: Path) -> None:
    with serving() as (owner, folder, server):
        owner.kill()
        until(lambda: not processes.is_running(server) and not folder.exists())
    assert list(temporary.iterdir()) == []


def test_what_was_killed_with_its_keeper_is_removed_by_the_next(temporary: Path) -> None:
    with serving() as (owner, folder, server):
        (keeper,) = [
            each
            for each in processes.descendants(owner.pid).values()
            if each.command.endswith(str(folder)) and "temporary_postgresql" in each.command
        ]
        processes.end([keeper], grace_s=0.1)
        owner.kill()
        owner.wait()
        assert processes.is_running(server) and folder.exists()
        with serving() as (_, other, running):
            assert not folder.exists() and not processes.is_running(server)
            # one whose owner lives is nobody's to remove
            with postgresql_server():
                assert processes.is_running(running) and other.exists()
    until(lambda: not list(temporary.glob(f"{PREFIX}*")))
