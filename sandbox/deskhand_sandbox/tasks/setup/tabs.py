"""Tabs of a browser: those of a browser sandbox, or of a Chromium that runs on a guest's screen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, InvalidAction
from deskhand_sandbox.tasks.guest import Guest
from deskhand_sandbox.types import Navigate, Tab

PORTS = (9222, 1337)
"""Where OSWorld's Chrome listens for DevTools."""
WAIT_S = 30.0
BROWSERS = ("google-chrome", "google-chrome-stable", "chromium", "chromium-browser")
FORWARDER = "socat"
"""OSWorld forwards one of the ports to the other; either is asked here."""

_ASK = """
import json, sys, time, urllib.request
ports, method, path, deadline = json.loads(sys.argv[1])
open_ = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
until = time.monotonic() + deadline
while True:
    for port in ports:
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
            print(open_(request, timeout=5).read().decode())
            sys.exit(0)
        except OSError as error:
            why = error
    if time.monotonic() > until:
        sys.exit(f"no browser answers: {why}")
    time.sleep(0.05)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenTab:
    """A tab as DevTools lists it."""

    id: str
    url: str
    title: str


def starts_browser(command: str | Sequence[str]) -> bool:
    """Whether a command only starts a browser."""
    return _program(command) in BROWSERS


def forwards_port(command: str | Sequence[str]) -> bool:
    """Whether a command only forwards the browser's port."""
    return _program(command) == FORWARDER and "1337" in str(command)


def _program(command: str | Sequence[str]) -> str:
    words = command.split() if isinstance(command, str) else command
    return words[0].rpartition("/")[2] if words else ""


def same_address(one: str, two: str) -> bool:
    """Whether two addresses mean the same page: without scheme, "www." and a slash at the end.

    One that is no URL means only itself, as "data:,[1" of a page an agent has typed.
    """
    return _bare(one) == _bare(two)


async def open_tabs(sandbox: Sandbox, urls: Sequence[str]) -> None:
    """Open addresses, each in a tab.

    Raises:
        InfrastructureError: no browser answers, or an address is refused.
    """
    for number, url in enumerate(urls):
        if sandbox.kind == "browser":
            try:
                if number:
                    await sandbox.act(Tab(do="open"))
                await sandbox.act(Navigate(url=url))
            except InvalidAction as error:
                raise InfrastructureError(str(error)) from error
        else:
            await _ask(Guest(sandbox), "PUT", f"/json/new?{quote(url, safe='')}")


async def close_tabs(sandbox: Sandbox, urls: Sequence[str]) -> None:
    """Close the tabs that show these addresses."""
    guest = Guest(sandbox)
    for tab in await listed(guest):
        if any(same_address(tab.url, url) for url in urls):
            await _ask(guest, "PUT", f"/json/close/{tab.id}")


async def listed(guest: Guest, wait_s: float = WAIT_S) -> tuple[OpenTab, ...]:
    """The pages open in the guest's browser, the one last in front first.

    Raises:
        InfrastructureError: no browser answers.
    """
    found = json.loads(await _ask(guest, "GET", "/json/list", wait_s))
    return tuple(
        OpenTab(id=str(each["id"]), url=str(each["url"]), title=str(each["title"]))
        for each in found
        if each["type"] == "page"
    )


async def _ask(guest: Guest, method: str, path: str, wait_s: float = WAIT_S) -> str:
    asked = json.dumps([list(PORTS), method, path, wait_s])
    line = f"python3 -c {shlex.quote(_ASK)} {shlex.quote(asked)}"
    ran = await guest.run(line, timeout_s=wait_s + 30)
    if ran.code:
        raise InfrastructureError((ran.err.strip().splitlines() or ["no browser answers"])[-1])
    return ran.out


def _bare(url: str) -> str:
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
    except ValueError:
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower().removeprefix('www.')}{parts.path.rstrip('/')}{query}"
