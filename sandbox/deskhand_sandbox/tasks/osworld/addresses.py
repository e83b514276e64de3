"""Whether an OSWorld task takes a network: whether it names places outside the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

_HOST = re.compile(r"https?://(?:[^\s/@\"']*@)?(\[[^\]]*\]|[^\s/:?#\"'<>\\]+)")
_INSIDE = re.compile(r"(?:.+\.)?localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\]", re.IGNORECASE)
_BY_THIS_MACHINE = frozenset({"download", "upload_file", "cloud_file"})
"""Steps and getters whose addresses this machine asks, not the sandbox."""
_WRITTEN = frozenset({"write"})
"""Steps that only write what they are told."""


def leads_outside(*parts: object) -> bool:
    """Whether steps or getters name an address of another machine, for the sandbox to ask."""
    return any(
        not _INSIDE.fullmatch(host) for part in parts for text in _texts(part) for host in _HOST.findall(text)
    )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _texts(each)
    elif isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if fields.get("type") not in _BY_THIS_MACHINE | _WRITTEN:
            for each in fields.values():
                yield from _texts(each)
