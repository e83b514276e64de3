"""How alike two texts are, as rapidfuzz's `ratio` counts it, which OSWorld uses."""

from __future__ import annotations


def ratio(one: str, two: str) -> float:
    """Twice the longest common subsequence over both lengths, 0 to 1; 1 for two empty texts."""
    total = len(one) + len(two)
    return 1.0 if total == 0 else 2 * common(one, two) / total


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
