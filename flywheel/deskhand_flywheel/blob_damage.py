"""How bytes that lost their digest were lost: cut short, as by a power failure, or changed.

A digest alone cannot tell; the formats can, for each says itself where it ends. A format that does not is
called changed.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import cast

TAIL_BYTES = 16
"""So much of the end is looked at."""

_PNG, _PNG_END = b"\x89PNG\r\n\x1a\n", b"\x00\x00\x00\x00IEND\xaeB`\x82"
_JPEG, _JPEG_END = b"\xff\xd8\xff", b"\xff\xd9"


class Damage(StrEnum):
    """What happened to a blob's bytes."""

    CUT_SHORT = "cut_short"
    CHANGED = "changed"


def damage_of(head: bytes, tail: bytes, size: int) -> Damage:
    """What happened to bytes that no longer have their digest.

    Args:
        head: the first bytes, a megabyte or more where there are so many.
        tail: the last `TAIL_BYTES`.
        size: how many bytes there are.
    """
    return Damage.CHANGED if _ends_as_it_says(head, tail, size) else Damage.CUT_SHORT


def _ends_as_it_says(head: bytes, tail: bytes, size: int) -> bool:
    if head.startswith(_PNG):
        return tail.endswith(_PNG_END)
    if head.startswith(_JPEG):
        return tail.endswith(_JPEG_END)
    if head[:4] == b"RIFF":
        return len(head) >= 8 and size >= 8 + int.from_bytes(head[4:8], "little")
    return size > 0 and size >= _safetensors_size(head)


def _safetensors_size(head: bytes) -> int:
    """Bytes the file should have, by its header; 0 for another format.

    Form: an 8-byte little-endian length, a JSON header of that length, the tensors
    (https://huggingface.co/docs/safetensors/index#format).
    """
    length = int.from_bytes(head[:8], "little")
    if head[8:9] != b"{" or len(head) < 8 + length:
        return 0
    try:
        header = cast("dict[str, dict[str, list[int]]]", json.loads(head[8 : 8 + length]))
        ends = [each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError):
        return 0
    return 8 + length + max(ends, default=0)
