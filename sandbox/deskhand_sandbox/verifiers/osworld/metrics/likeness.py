"""How alike two texts are: by characters as rapidfuzz's `ratio` counts them, as in OSWorld, or by lines."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from deskhand_sandbox.verifiers.osworld.values import Unusable

CHARACTERS = 100_000
LINES = 10_000
"""Of the longest text that is compared: the time it takes grows with the square of that."""


def ratio(one: str, two: str) -> float:
    """Twice the longest common subsequence over both lengths, 0 to 1; 1 for two empty texts.

    Raises:
        Unusable: they are not the same, and one is longer than `CHARACTERS`.
    """
    if one == two:
        return 1.0
    _check(max(len(one), len(two)), CHARACTERS, "characters")
    return 2 * common(one, two) / (len(one) + len(two))


def ratio_of_lines(one: Sequence[str], two: Sequence[str]) -> float:
    """The share of lines that two texts have in common, in order.

    Raises:
        Unusable: they are not the same, and one has more than `LINES`.
    """
    if one == two:
        return 1.0
    _check(max(len(one), len(two)), LINES, "lines")
    return difflib.SequenceMatcher(a=one, b=two).ratio()


def _check(length: int, most: int, what: str) -> None:
    if length > most:
        raise Unusable(
            f"texts of more than {most} {what} are compared as a whole, and these are not the same"
        )


def common(one: str, two: str) -> int:
    """Length of the longest common subsequence, by the bit-parallel method of Hyyrö (2004)."""
    places: dict[str, int] = {}
    for at, character in enumerate(one):
        places[character] = places.get(character, 0) | (1 << at)
    every = (1 << len(one)) - 1
    row = every
    for character in two:
        matching = row & places.get(character, 0)
        row = ((row + matching) | (row - matching)) & every
    return len(one) - row.bit_count()
