"""A PostgreSQL server of its own for tests and benches: in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_sandbox.manager import owned

PREFIX, DATA = "deskhand-pg-", "data"

_BINARIES = os.pathsep.join(
    [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ.get("PATH", "")]
)


@contextmanager
def postgresql_server() -> Generator[Path]:
    """Runs until the block ends; yields the folder of its socket, which is also its host name.

    It writes nothing through to the disk: it is for data that nobody needs afterwards. A keeper, a process of
    its own, stops it and removes the folder, also when this process is killed; what a killed keeper left is
    removed by the next server.

    Raises:
        StoreUnavailable: PostgreSQL is not installed, or does not start.
    """
    for left in owned.left(PREFIX):
        _remove(left)
    folder = owned.temporary_folder(PREFIX)
    keeper = subprocess.Popen(
        [sys.executable, "-m", "deskhand_flywheel.temporary_postgresql", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        user = _user()
        if user is not None:
            shutil.chown(folder, user)
        data = folder / DATA
        _run("initdb", "-D", data, "-U", "deskhand", "--auth=trust", "-E", "UTF8", "--no-sync", user=user)
        options = f"-c listen_addresses='' -c fsync=off -k {folder}"
        _run("pg_ctl", "start", "-w", "-D", data, "-l", folder / "log", "-o", options, user=user)
        yield folder
    finally:
        keeper.communicate()  # closes its input, which is its sign
        if folder.exists():
            _remove(folder)


def keep(folder: Path) -> None:
    """Wait for the end of the process that holds the other end of standard input, and of its server."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    _remove(folder)


def _remove(folder: Path) -> None:
    """Stop the server of a folder, if one runs, and remove it."""
    if (folder / DATA / "postmaster.pid").exists():
        with suppress(StoreUnavailable):  # it ended meanwhile
            _run("pg_ctl", "stop", "-m", "immediate", "-D", folder / DATA, user=_user())
    shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str | Path, user: str | None) -> None:
    path = shutil.which(program, path=_BINARIES)
    if path is None:
        raise StoreUnavailable(f"{program} is missing: install PostgreSQL's server")
    with tempfile.TemporaryFile() as said:
        # the server keeps what it inherits open: a pipe would never end
        ran = subprocess.run(
            [path, *map(str, arguments)], stdout=said, stderr=said, user=user, cwd="/", check=False
        )
        if ran.returncode:
            said.seek(0)
            raise StoreUnavailable(f"{program} failed: {said.read().decode(errors='replace').strip()}")


def _user() -> str | None:
    """The server does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
