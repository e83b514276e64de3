"""Where the platform is, and the token that opens it."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from urllib.parse import urlsplit

from deskhand_platform.auth import read_token
from deskhand_platform.errors import NotServing, Unauthorized
from deskhand_platform.lock import serving


def find(url: str | None = None, token: str | None = None, home: Path | None = None) -> tuple[str, str]:
    """URL and token.

    Args:
        url: None: `DESKHAND_URL`, else the platform that serves `home` on this machine.
        token: None: `DESKHAND_TOKEN`, else the one in `home`, which goes to this machine's platforms alone.
        home: None: `DESKHAND_HOME`, else ~/.deskhand.

    Raises:
        NotServing: no address was given and nobody serves the home.
        Unauthorized: there is no token to show.
    """
    home = home or Path(os.environ.get("DESKHAND_HOME", "~/.deskhand")).expanduser()
    url = url or os.environ.get("DESKHAND_URL") or _own(home)
    kept = token or os.environ.get("DESKHAND_TOKEN") or (read_token(home) if _here(url) else None)
    if kept is None:
        where = f"there is no token in {home}" if _here(url) else f"{url} is not this machine's"
        raise Unauthorized(f"{where}; set DESKHAND_TOKEN to the platform's token")
    return url.rstrip("/"), kept


def _own(home: Path) -> str:
    found = serving(home)
    if found is None or found.url is None:
        raise NotServing(f"no platform serves {home}; start one with `deskhand serve`, or set DESKHAND_URL")
    return found.url


def _here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
