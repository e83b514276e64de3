"""Server-sent events, read line by line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import IncrementalNewlineDecoder

from deskhand_agent.apis.client import growing_pause_s
from deskhand_platform.client.errors import ApiError, Unreachable
from deskhand_platform.client.flows import BUSY


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """One event as it came."""

    id: int
    data: str


class LineReader:
    """Cuts a stream where server-sent events end a line; U+2028 and its like end none."""

    def __init__(self) -> None:
        self._newlines = IncrementalNewlineDecoder(None, translate=True)
        self._begun = ""

    def feed(self, text: str) -> Iterator[str]:
        """The lines that end with this text."""
        *whole, self._begun = (self._begun + self._newlines.decode(text)).split("\n")
        yield from whole


@dataclass(slots=True)
class EventReader:
    """Puts lines together to events, and remembers the last one for when the connection breaks off."""

    last_id: int
    """What a new connection sends as `Last-Event-ID`."""
    _fields: dict[str, str] = field(default_factory=dict[str, str])

    def restart(self) -> None:
        """What had come of an unfinished event is gone with its connection."""
        self._fields.clear()

    def feed(self, line: str) -> Told | None:
        """The event that ends with this line; None while there is none."""
        if line:
            name, _, value = line.partition(":")
            if name in ("id", "data"):
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if not fields.get("id", "").isdecimal():
            return None
        # one without data tells how far the platform has looked
        self.last_id = int(fields["id"])
        if "data" not in fields:
            return None
        return Told(id=self.last_id, data=fields["data"])


class StreamPatience:
    """How long a stream that broke off, or for which the platform is too busy, is opened again and again."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._tried = 0
        self._until = 0.0

    def heard(self) -> None:
        """Something came."""
        self._tried = 0

    def pause_s(self, error: Unreachable | ApiError) -> float:
        """The pause before the next try.

        Raises:
            Unreachable: nothing came for too long since it broke off.
            ApiError: the same, of a busy platform, or it refuses the stream.
        """
        if not self._tried:  # how long it was quiet before it broke off says nothing
            self._until = time.monotonic() + self._patience_s
        self._tried += 1
        pause_s, passes = growing_pause_s(self._tried), True
        if isinstance(error, ApiError):
            passes = error.status in BUSY
            pause_s = pause_s if error.retry_after_s is None else error.retry_after_s
        if not passes or time.monotonic() + pause_s > self._until:
            raise error
        return pause_s
