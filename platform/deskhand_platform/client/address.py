"""Where the platform is, and the token that opens it."""

from __future__ import annotations

import ipaddress
import os
from contextlib import suppress
from pathlib import Path

import httpx

from deskhand_platform.auth import read_token
from deskhand_platform.errors import InvalidField, NotServing, Unauthorized
from deskhand_platform.lock import serving

EXAMPLE = "give --url, or DESKHAND_URL, one like https://deskhand.example.com"
LAST_PORT = 65_535
CHECKOUT = ".deskhand"
"""Home of what `make` runs, below the folder it runs in."""


def find(url: str | None = None, token: str | None = None, home: Path | None = None) -> tuple[str, str]:
    """URL and token.

    Args:
        url: None: `DESKHAND_URL`, else the platform that serves `home` on this machine.
        token: None: `DESKHAND_TOKEN`, else the one in `home`, which goes to this machine's platforms alone.
        home: None: `DESKHAND_HOME`, else ~/.deskhand.

    Raises:
        InvalidField: the address is none.
        NotServing: no address was given and nobody serves the home.
        Unauthorized: there is no token to show, or one that cannot be sent.
    """
    home = home or Path(os.environ.get("DESKHAND_HOME", "~/.deskhand")).expanduser()
    url = url or os.environ.get("DESKHAND_URL") or _own(home)
    here = _here(_host(url))
    kept = token or os.environ.get("DESKHAND_TOKEN") or (read_token(home) if here else None)
    if kept is None:
        where = f"there is no token in {home}" if here else f"{url} is not this machine's"
        raise Unauthorized(f"{where}; set DESKHAND_TOKEN to the platform's token")
    if not (kept.isascii() and kept.isprintable()):
        raise Unauthorized("the token holds what no token does; set DESKHAND_TOKEN to the platform's token")
    return url.rstrip("/"), kept


def _own(home: Path) -> str:
    found = serving(home)
    if found is None or found.url is None:
        raise NotServing(f"no platform serves {home}; {_elsewhere(home)}")
    return found.url


def _elsewhere(home: Path) -> str:
    """What to do where nobody serves a home: `make run` serves the one of its checkout."""
    with suppress(OSError):  # somebody else's, or no folder
        checkout = Path(CHECKOUT).resolve()
        if checkout != home.resolve() and serving(checkout) is not None:
            return f"one serves the home of this checkout: export DESKHAND_HOME={checkout}"
    return "start one with `deskhand serve`, or set DESKHAND_URL"


def _host(url: str) -> str:
    """As what sends to it reads it: the token goes nowhere else."""
    try:
        parsed = httpx.URL(url)
        host, port = parsed.host, parsed.port or 0
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidField("url", f"{url!r} is no address ({error}); {EXAMPLE}") from error
    if parsed.scheme not in ("http", "https") or not host or not 0 <= port <= LAST_PORT:
        raise InvalidField("url", f"{url!r} is no platform's address; {EXAMPLE}")
    return host


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
