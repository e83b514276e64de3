"""Names of trajectories: UUID version 7 (RFC 9562), which sort by time."""

from __future__ import annotations

import os
import re
import time
import uuid
from itertools import count

_counter = count(int.from_bytes(os.urandom(1), "big"))


def is_id(text: str) -> bool:
    """Whether it is of the form of `new_id`."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


def new_id() -> str:
    """32 hex digits; later ones sort after earlier ones, within one millisecond too for ones of one process.

    The 12 bits after the milliseconds hold the fraction of the millisecond (RFC 9562, method 3); the top of
    the random part counts, so that ids of one process in one quarter microsecond differ by construction.
    """
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    fraction = rest * 4096 // 1_000_000
    tail = (next(_counter) & 0xFFFF) << 46 | int.from_bytes(os.urandom(6), "big") >> 2
    value = milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | tail
    return uuid.UUID(int=value).hex
