"""What a run writes to its log, read piece by piece while it writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PIECE_BYTES = 64 * 1024
"""Most of one piece."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPiece:
    """Some of a log."""

    text: str
    offset: int
    """Where it begins, in bytes."""
    next_offset: int
    size: int
    """Bytes there are by now."""


def read_log(folder: Path, *, offset: int | None, tail: int) -> LogPiece:
    """A piece of the run's log.

    Args:
        folder: of the run.
        offset: where to begin, in bytes; None: `tail` bytes before the end, at the beginning of a line.
        tail: at most `PIECE_BYTES`.
    """
    try:
        with (folder / "log.txt").open("rb") as log:
            size = log.seek(0, 2)
            begin = max(0, size - tail) if offset is None else min(offset, size)
            log.seek(begin)
            data = log.read(PIECE_BYTES)
    except FileNotFoundError:
        return LogPiece(text="", offset=0, next_offset=0, size=0)
    if offset is None and begin > 0:
        cut = data.find(b"\n") + 1
        data, begin = data[cut:], begin + cut
    # a character may lie across the end of what is there: it is left for the next piece
    whole = data if len(data) < 4 else data[: len(data) - _broken(data)]
    text = whole.decode(errors="replace")
    return LogPiece(text=text, offset=begin, next_offset=begin + len(whole), size=size)


def _broken(data: bytes) -> int:
    """Bytes at the end that begin a UTF-8 character without ending it."""
    for back in range(1, 4):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue
        wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if wanted > back else 0
    return 0
