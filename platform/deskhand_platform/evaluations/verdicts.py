"""What comes of comparing two policies."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What two measurements say together."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "unclear"
    """The interval of the difference holds 0."""
