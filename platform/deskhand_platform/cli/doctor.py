"""`deskhand doctor`: is everything here that is needed, and what mends what is not."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import typer

from deskhand_platform.cli.console import out
from deskhand_platform.lock import serving
from deskhand_platform.settings import Settings, load_settings
from deskhand_sandbox.errors import BackendMissing, InvalidPool
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.registry import create_backend

LOW_DISK_GB = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing looked at."""

    ok: bool
    what: str
    mend: str = ""
    """The command, when it is not ok."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example:  deskhand doctor")(doctor)


def doctor() -> None:
    """Look whether everything is here; exit status 1 and the command that mends it when something is not."""
    settings = load_settings()
    found = [check(settings) for check in CHECKS]
    for one in found:
        mend = "" if one.ok else f"  ->  {one.mend}"
        out.print(f"{'ok     ' if one.ok else 'MISSING'}  {one.what}{mend}", soft_wrap=True)
    if not all(one.ok for one in found):
        raise typer.Exit(1)


def chromium(_settings: Settings) -> Finding:
    """The Chromium that sandboxes would start."""
    try:
        # the sandboxes' own search, which needs Playwright only to be imported
        from deskhand_sandbox.backends.browser.chromium import find_chromium

        return Finding(ok=True, what=f"Chromium {find_chromium()}")
    except ImportError:
        return Finding(ok=False, what="Chromium", mend='pip install "deskhand[browser]"')
    except BackendMissing as error:
        return Finding(ok=False, what="Chromium", mend=str(error))


def module(name: str, extra: str) -> Callable[[Settings], Finding]:
    """An importable package."""

    def look(_settings: Settings) -> Finding:
        ok = importlib.util.find_spec(name) is not None
        return Finding(ok=ok, what=f"Python package {name}", mend=f'pip install "deskhand[{extra}]"')

    return look


def confinement(_settings: Settings) -> Finding:
    """What keeps a terminal's commands apart from this machine."""
    ok = Confinement.available()
    return Finding(ok=ok, what="bubblewrap, for terminals", mend="make setup, on a machine with namespaces")


def kind(name: str, what: str) -> Callable[[Settings], Finding]:
    """What a kind of sandbox needs besides that."""

    def look(_settings: Settings) -> Finding:
        try:
            create_backend(name)
        except BackendMissing as error:
            return Finding(ok=False, what=what, mend=str(error))
        return Finding(ok=True, what=what)

    return look


def pools(settings: Settings) -> Finding:
    """What the settings say sandboxes are made of."""
    lending = settings.sandbox.lending
    what = f"pools of sandboxes in the settings: {', '.join(lending.pools) or 'none, so the defaults'}"
    try:
        for name, pool in lending.pools_of(lending.kinds, most=1).items():
            create_backend(pool.kind or name, **pool.settings)
    except (BackendMissing, InvalidPool) as error:
        return Finding(ok=False, what=what, mend=str(error))
    return Finding(ok=True, what=what)


def page(_settings: Settings) -> Finding:
    """The built page."""
    from deskhand_platform.api.page import STATIC

    return Finding(ok=(STATIC / "index.html").exists(), what="the web page is built", mend="make setup")


def disk(settings: Settings) -> Finding:
    """Room for trajectories and checkpoints."""
    free = shutil.disk_usage(settings.home).free / 1e9
    return Finding(
        ok=free >= LOW_DISK_GB,
        what=f"{free:.0f} GB free at {settings.home}",
        mend=f"free some space, or set DESKHAND_HOME elsewhere: rounds want {LOW_DISK_GB:.0f} GB",
    )


def writable(settings: Settings) -> Finding:
    """The home folder takes files, and nobody else serves it by accident."""
    ok = os.access(settings.home, os.W_OK)
    other = serving(settings.home)
    note = f", served at {other.url} by process {other.pid}" if other else ""
    return Finding(ok=ok, what=f"home folder {settings.home}{note}", mend="set DESKHAND_HOME to one you own")


CHECKS = (
    chromium,
    confinement,
    kind("desktop", "desktops: Xvfb, openbox, mss, pyautogui"),
    kind("android", "Android: adb, and the simulator"),
    kind("vm", "virtual machines: libvirt, QEMU"),
    pools,
    module("playwright", "browser"),
    module("miniwob", "browser"),
    module("torch", "train"),
    module("transformers", "vlm"),
    module("dbos", "server"),
    page,
    disk,
    writable,
)
