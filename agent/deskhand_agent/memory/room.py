"""Text that keeps to so many bytes."""

from __future__ import annotations

from collections.abc import Sequence

LINES_IN_ROOM = 8
"""Lines that there is room for at least, where one alone would take more than all of it."""


def size(text: str) -> int:
    """Bytes in UTF-8. A tokenizer of bytes or characters makes no more tokens of it, save for the few
    characters that its normalisation (NFC) takes apart."""
    return len(text.encode("utf-8", "surrogatepass"))


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The greatest share that everybody may have up to, so that together they fit; whoever wants less leaves
    the rest to the others.

    Args:
        sizes: what each wants, in bytes.
        room: bytes for all.
    """
    left = len(sizes)
    for wanted in sorted(sizes):
        if wanted * left > room:
            return max(0, room) // left
        room -= wanted
        left -= 1
    return max(sizes, default=0)


def clipped(text: str, longest: int) -> str:
    """The text without its middle, so that it has no more bytes than that; says how many it had.

    A character is never cut in two.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= longest:
        return text
    mark = f" (shortened from {len(data)} bytes) "
    half, odd = divmod(max(0, longest - len(mark)), 2)
    if not half:
        return data[:longest].decode("utf-8", "ignore")
    head, tail = data[: half + odd].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    return f"{head}{mark}{tail}"


def each_within(lines: Sequence[str], room: int) -> tuple[str, ...]:
    """The lines, those cut that alone would not fit: one long line hides neither itself nor all before it.

    Args:
        room: characters for all that are shown, line ends included.
    """
    share = room // LINES_IN_ROOM
    return tuple(line if len(line) < room or not share else clipped(line, share) for line in lines)
