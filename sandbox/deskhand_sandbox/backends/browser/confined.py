"""A Chromium that sees its own profile and the machine's installed programs, and no other file or process.

It keeps the machine's network: who it may reach is the network policy's matter (see `network`).
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from deskhand_sandbox.isolation.bubblewrap import LAYOUT, SHARED_ETC, USER, own_processes

PID_FILE = "deskhand.pid"
_NETWORK_ETC = ("hosts", "resolv.conf", "nsswitch.conf", "chromium", "chromium.d")
_SCRIPT = """#!/bin/sh
for word in "$@"; do
  case "$word" in --user-data-dir=*) profile="${{word#--user-data-dir=}}" ;; esac
done
echo $$ > "$profile/{pid_file}"
exec {words} --bind "$profile" "$profile" -- {program} "$@"
"""


def write_launcher(executable: str, place: Path) -> str:
    """A program, to be started like Chromium itself, that starts it confined; its path."""
    words = ["bwrap", "--unshare-all", "--share-net", "--die-with-parent", "--hostname", "desk"]
    words += ["--uid", str(USER), "--gid", str(USER), "--ro-bind", "/usr", "/usr"]
    for name in LAYOUT:
        found = Path("/", name)
        if found.is_symlink():
            words += ["--symlink", str(found.readlink()), str(found)]
        elif found.is_dir():
            words += ["--ro-bind", str(found), str(found)]
    for name in (*SHARED_ETC, *_NETWORK_ETC):
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    words += ["--ro-bind-try", "/var/cache/fontconfig", "/var/cache/fontconfig"]
    program = Path(executable).resolve()
    if not program.is_relative_to("/usr"):
        words += ["--ro-bind", str(program.parent), str(program.parent)]
    words += [*own_processes(), "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", "HOME", "/tmp"]
    launcher = place / "chromium"
    launcher.write_text(
        _SCRIPT.format(pid_file=PID_FILE, words=shlex.join(words), program=shlex.quote(str(program)))
    )
    launcher.chmod(0o700)
    return str(launcher)


async def confined_pid(profile: Path) -> int | None:
    """Process id of a confined browser, as this machine sees it; None of an unconfined one."""
    file = profile / PID_FILE
    return int(await asyncio.to_thread(file.read_text)) if file.exists() else None
