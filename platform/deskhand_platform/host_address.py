"""Where the sandbox host is: written by the platform, read by its worker before every episode."""

from __future__ import annotations

import json
from pathlib import Path

from deskhand_platform.auth import write_private

FILE = "sandbox-host.json"


def publish(home: Path, url: str, token: str) -> None:
    """Say where the host is now; readable by its owner alone, for the token opens every sandbox."""
    write_private(home / FILE, json.dumps({"url": url, "token": token}))


def withdraw(home: Path) -> None:
    """The host is gone."""
    (home / FILE).unlink(missing_ok=True)


def published(home: Path) -> tuple[str, str] | None:
    """URL and token; None while there is no host."""
    try:
        values = json.loads((home / FILE).read_text())
    except FileNotFoundError:
        return None
    return str(values["url"]), str(values["token"])
