"""Dense labels of a page: characters under patches, which letters of their words, and words under tokens.

Trained through linear heads that are thrown away, they teach vision to read long before a click could: one
page gives hundreds of labels, an episode one bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from deskhand_agent.models.images import ImageSettings
from deskhand_agent.models.vocabulary import CHARACTERS, LATIN
from deskhand_trainer.base.pages import SeenPage

UNKNOWN = -1
CHARACTER_CLASSES = len(CHARACTERS) + len(LATIN) + 1
"""0 is "no character"."""
WORD_LETTERS = 8
"""A token names the first letters of the word under its middle."""
WORD_PLACES = 16
"""A place tells which letter of its word it shows, from the first to this one; later ones count as this."""
LOOKS = 4
"""Places of a patch that are asked about, from left to right: what is narrower than the way from one to the
next, as an i or an l would be with two, is often asked about nowhere, and learned badly."""

_CLASS = {character: index for index, character in enumerate((*CHARACTERS, *LATIN), start=1)}


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledPage:
    """A page as arrays; pixels outside the screenshot are white and empty."""

    pixels: Tensor
    """uint8 [height, width, 3], sized for the model."""
    characters: npt.NDArray[np.int16]
    """[height, width] class of the character there; `UNKNOWN` where nobody can tell."""
    places: npt.NDArray[np.int16]
    """[height, width] which letter of its word that is, from 1; 0 where there is none, or `UNKNOWN`."""
    words: npt.NDArray[np.int16]
    """[height, width] row of `spelling`; 0 is "no word"."""
    spelling: npt.NDArray[np.int64]
    """[words + 1, WORD_LETTERS] classes of the first letters; row 0 is empty, or `UNKNOWN`."""


def label_page(page: SeenPage, pixels: Tensor) -> LabelledPage:
    """Paint the page's characters and words onto arrays of the size the model sees."""
    height, width = int(pixels.shape[0]), int(pixels.shape[1])
    empty = 0 if page.told else UNKNOWN
    characters = np.full((height, width), empty, np.int16)
    places = np.full((height, width), empty, np.int16)
    painted = np.zeros((height, width), np.int16)
    words, belongs = page.words()
    place, before = 0, -1
    for character, word in zip(page.characters, belongs, strict=True):
        place, before = place + 1 if word == before else 1, word
        left, top, right, bottom = (round(edge) for edge in character.box)
        area = np.s_[max(top, 0) : bottom, max(left, 0) : max(right, left + 1)]
        characters[area] = _CLASS.get(character.character, 0)
        places[area] = min(place, WORD_PLACES)
        painted[area] = word + 1
    spelling = np.zeros((len(words) + 1, WORD_LETTERS), np.int64)
    spelling[0] = empty
    for row, word in enumerate(words, start=1):
        for place, letter in enumerate(word.text[:WORD_LETTERS]):
            spelling[row, place] = _CLASS.get(letter, 0)
    return LabelledPage(pixels=pixels, characters=characters, places=places, words=painted, spelling=spelling)


@dataclass(frozen=True, kw_only=True, slots=True)
class DenseBatch:
    """Pictures, or strips of them, with their labels."""

    pixels: Tensor
    """uint8 [b, height, width, 3]."""
    characters: Tensor
    """[b, patches, LOOKS], merge order."""
    places: Tensor
    """As `characters`."""
    spelling: Tensor
    """[b, tokens, WORD_LETTERS]."""
    shown: Tensor
    """[b, tokens, WORD_PLACES] class of the first, second, … letter of a word where a token shows it; 0 where
    it does not."""
    window: slice | None
    """Which patches of the whole picture these are; None: all."""


def whole_pages(pages: list[LabelledPage], settings: ImageSettings) -> DenseBatch:
    """Pages as they are."""
    labels = [_labels(p.characters, p.places, p.words, p.spelling, settings) for p in pages]
    return _batch([p.pixels for p in pages], labels, None)


def strips(
    pages: list[LabelledPage], settings: ImageSettings, random: np.random.Generator, *, token_rows: int = 2
) -> DenseBatch:
    """A strip of each page where text is, at any height and shifted a little sideways.

    Attention over a strip costs a fraction of that over the page, most of which is blank; shifting shows
    every letter at every place within a patch.
    """
    height = token_rows * settings.factor_px
    columns = int(pages[0].pixels.shape[1]) // settings.patch_px
    token_lines = int(pages[0].pixels.shape[0]) // settings.factor_px
    row = int(random.integers(0, token_lines - token_rows + 1))
    pixels: list[Tensor] = []
    labels: list[_Labels] = []
    for page in pages:
        ink = (page.characters > 0).sum(1)
        weight = np.convolve(ink, np.ones(height), "valid") + 1e-3
        top = int(random.choice(len(weight), p=weight / weight.sum()))
        shift = int(random.integers(-settings.patch_px, settings.patch_px + 1))
        area = np.s_[top : top + height]
        pixels.append(torch.roll(page.pixels[top : top + height], shift, 1))
        labels.append(
            _labels(
                np.roll(page.characters[area], shift, 1),
                np.roll(page.places[area], shift, 1),
                np.roll(page.words[area], shift, 1),
                page.spelling,
                settings,
            )
        )
    patches = columns * settings.merge
    return _batch(pixels, labels, slice(row * patches, (row + token_rows) * patches))


_Labels: TypeAlias = tuple[npt.NDArray[np.int64], ...]
"""Characters, places, spelling and shown letters of a picture."""


def _batch(pixels: Sequence[Tensor], labels: Sequence[_Labels], window: slice | None) -> DenseBatch:
    characters, places, spelling, shown = (
        torch.from_numpy(np.stack(each)) for each in zip(*labels, strict=True)
    )
    return DenseBatch(
        pixels=torch.stack(list(pixels)),
        characters=characters,
        places=places,
        spelling=spelling,
        shown=shown,
        window=window,
    )


def _labels(
    characters: npt.NDArray[np.int16],
    places: npt.NDArray[np.int16],
    words: npt.NDArray[np.int16],
    spelling: npt.NDArray[np.int64],
    settings: ImageSettings,
) -> _Labels:
    patch, merge, factor = settings.patch_px, settings.merge, settings.factor_px
    height, width = characters.shape
    middles = np.arange(patch // 2, height, patch)
    lefts = np.arange(0, width, patch)

    def looked_at(painted: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
        looks = [painted[middles][:, lefts + patch * (1 + 2 * k) // (2 * LOOKS)] for k in range(LOOKS)]
        grid = np.stack(looks, -1).astype(np.int64)
        grid = grid.reshape(height // factor, merge, width // factor, merge, LOOKS).transpose(0, 2, 1, 3, 4)
        return grid.reshape(-1, LOOKS)

    tokens = words[np.arange(factor // 2, height, factor)][:, np.arange(factor // 2, width, factor)]
    letters, order = looked_at(characters), looked_at(places)
    return letters, order, spelling[tokens.reshape(-1)], _shown(letters, order, merge * merge * LOOKS)


def _shown(letters: npt.NDArray[np.int64], order: npt.NDArray[np.int64], looks: int) -> npt.NDArray[np.int64]:
    """[tokens, WORD_PLACES], of the letters of every look and their order in their words."""
    seen, at = letters.reshape(-1, looks), order.reshape(-1, looks)
    table = np.zeros((len(seen), WORD_PLACES + 1), np.int64)
    rows, columns = np.nonzero(at > 0)
    table[rows, at[rows, columns]] = seen[rows, columns]
    table[(seen == UNKNOWN).any(1)] = UNKNOWN
    return table[:, 1:]
