"""A Chromium that sees its own profile and the machine's installed programs, and no other file or process,
and that takes no more memory than it may.

It keeps the machine's network: who it may reach is the network policy's matter (see `network`).
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from deskhand_sandbox.isolation.bubblewrap import LAYOUT, SHARED_ETC, USER, own_processes
from deskhand_sandbox.isolation.limits import ControlGroup

PID_FILE = "deskhand.pid"
_NETWORK_ETC = ("hosts", "resolv.conf", "nsswitch.conf", "chromium", "chromium.d")
_SCRIPT = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --user-data-dir=*) profile="${{word#--user-data-dir=}}" ;;
    {group}*) echo $$ > "${{word#{group}}}/cgroup.procs" || exit ;;
  esac
done
echo $$ > "$profile/{pid_file}"
exec {words} {program} "$@"
"""
_GROUP = "--deskhand-group="
"""Chromium itself makes nothing of it."""


def write_launcher(executable: str, place: Path, *, apart: bool) -> str:
    """A program, to be started like Chromium itself, that starts it confined; its path.

    Args:
        apart: it sees no more than it needs, by bubblewrap; else it is but held to a group's limits.
    """
    program, words = Path(executable), ""
    if apart:
        program = program.resolve()
        words = f'{shlex.join(_apart(program))} --bind "$profile" "$profile" --'
    script = _SCRIPT.format(group=_GROUP, pid_file=PID_FILE, words=words, program=shlex.quote(str(program)))
    launcher = place / "chromium"
    launcher.write_text(script)
    launcher.chmod(0o700)
    return str(launcher)


def entering(group: ControlGroup) -> tuple[str, ...]:
    """Arguments that have a launcher start it in a group."""
    return tuple(f"{_GROUP}{folder}" for folder in group.folders)


def _apart(program: Path) -> list[str]:
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
    if not program.is_relative_to("/usr"):
        words += ["--ro-bind", str(program.parent), str(program.parent)]
    return [*words, *own_processes(), "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", "HOME", "/tmp"]


async def confined_pid(profile: Path) -> int | None:
    """Process id of a confined browser, as this machine sees it; None of an unconfined one."""
    file = profile / PID_FILE
    return int(await asyncio.to_thread(file.read_text)) if file.exists() else None
