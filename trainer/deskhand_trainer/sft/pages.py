"""Pages the eyes are trained on: a screenshot and what stands where on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from deskhand_sandbox.types import Image

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the screenshot."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterBox:
    """One visible character."""

    character: str
    box: Box
    starts_word: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ElementBox:
    """Something a person could point at."""

    kind: str
    """Tag name: "button", "a", "label", "input", …"""
    label: str
    """Its text; empty for fields and pictures."""
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class PerceptionPage:
    """One page as it looked."""

    image: Image
    """With data."""
    task_id: str
    seed: int
    characters: tuple[CharacterBox, ...]
    """In reading order of the document."""
    elements: tuple[ElementBox, ...]
    content_top_px: float
    """Pointing questions ask only about what lies below (the instruction stands above)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """Characters that stand together."""

    text: str
    box: Box


def words_of(page: PerceptionPage) -> tuple[list[Word], list[int]]:
    """The page's words, and for every character the index of its word."""
    words: list[Word] = []
    belongs: list[int] = []
    previous: Box | None = None
    for character in page.characters:
        box = character.box
        same_line = previous is not None and abs(box[1] - previous[1]) <= 2 and box[0] >= previous[0] - 3
        if character.starts_word or not words or not same_line:
            words.append(Word(text=character.character, box=box))
        else:
            words[-1] = _grown(words[-1], character)
        belongs.append(len(words) - 1)
        previous = box
    return words, belongs


def _grown(word: Word, character: CharacterBox) -> Word:
    left, top, right, bottom = word.box
    box = character.box
    return Word(
        text=word.text + character.character,
        box=(min(left, box[0]), min(top, box[1]), max(right, box[2]), max(bottom, box[3])),
    )
