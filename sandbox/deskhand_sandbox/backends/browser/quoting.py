"""Texts of a page on one line."""

from __future__ import annotations

LONGEST_TEXT = 200
"""Characters of a name or a value that are shown."""


def quoted(text: str) -> str:
    """A name or a value, on one line and not too long."""
    text = " ".join(text.split())
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT - 1]}…"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
