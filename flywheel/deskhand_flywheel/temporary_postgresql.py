"""A PostgreSQL server of its own for tests and benches: in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from deskhand_flywheel.errors import StoreUnavailable

_BINARIES = os.pathsep.join(
    [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ.get("PATH", "")]
)


@contextmanager
def postgresql_server() -> Generator[Path]:
    """Runs until the block ends; yields the folder of its socket, which is also its host name.

    It writes nothing through to the disk: it is for data that nobody needs afterwards.

    Raises:
        StoreUnavailable: PostgreSQL is not installed, or does not start.
    """
    with tempfile.TemporaryDirectory(prefix="deskhand-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        user = _user()
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        _run("initdb", "-D", data, "-U", "deskhand", "--auth=trust", "-E", "UTF8", "--no-sync", user=user)
        options = f"-c listen_addresses='' -c fsync=off -k {folder}"
        log = folder / "log"
        _run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options, user=user)
        try:
            yield folder
        finally:
            _run("pg_ctl", "stop", "-m", "immediate", "-D", data, user=user)


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
