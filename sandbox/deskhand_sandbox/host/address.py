"""Where a sandbox host listens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """A host's address, by its URL: "http://127.0.0.1:PORT" or "unix:/PATH"."""

    url: str
    http_base: str
    """What HTTP requests are sent to; its host name means nothing for a unix socket."""
    socket_path: Path | None
    """None for TCP."""

    @property
    def websocket_base(self) -> str:
        """The same for WebSockets."""
        return "ws" + self.http_base.removeprefix("http")

    @classmethod
    def of(cls, url: str) -> Address:
        """
        Raises:
            ValueError: it is no address of a sandbox host.
        """
        parts = urlsplit(url)
        if parts.scheme == "unix" and parts.path.startswith("/"):
            return cls(url=url, http_base="http://localhost", socket_path=Path(parts.path))
        if parts.scheme in ("http", "https") and parts.hostname:
            return cls(url=url, http_base=url.rstrip("/"), socket_path=None)
        raise ValueError(f"{url!r} is no address of a sandbox host: give http://HOST:PORT or unix:/PATH")
