"""Where the sandbox host is: written by the platform, read by its worker before every episode."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from deskhand_platform.auth import write_private
from deskhand_sandbox.host import SandboxClient

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


class HostClient:
    """A client of the host that is up; that of one before it is let go of."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._client: tuple[tuple[str, str], SandboxClient] | None = None
        self._closing = set[asyncio.Task[None]]()

    def get(self) -> SandboxClient | None:
        """The client; None while there is no host."""
        address = published(self._home)
        if address is None:
            return None
        if self._client is None or self._client[0] != address:
            if self._client is not None:
                closing = asyncio.create_task(self._client[1].close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            self._client = address, SandboxClient(*address)
        return self._client[1]

    async def close(self) -> None:
        """Let go of the connections."""
        await asyncio.gather(*self._closing)
        if self._client is not None:
            await self._client[1].close()
