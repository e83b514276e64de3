from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.images import sized_pixels
from deskhand_agent.models.vocabulary import CHARACTERS, LATIN
from deskhand_trainer.base.labels import (
    CHARACTER_CLASSES,
    LOOKS,
    UNKNOWN,
    WORD_PLACES,
    label_page,
    strips,
    whole_pages,
)
from deskhand_trainer.base.pages import SeenPage


def letter(label: int) -> str:
    return CHARACTERS[label - 1] if label else ""


def test_every_pixel_knows_its_letter_and_word(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    page = pages[0]
    labels = label_page(page, sized_pixels(page.image, bundle.images))
    words, belongs = page.words()
    for character, word in zip(page.characters, belongs, strict=True):
        left, top, right, bottom = character.box
        x, y = int((left + right) / 2), int((top + bottom) / 2)
        assert letter(int(labels.characters[y, x])) == character.character
        spelled = labels.spelling[labels.words[y, x]]
        assert "".join(letter(int(i)) for i in spelled) == words[word].text
        place = int(labels.places[y, x])
        assert words[word].text[place - 1] == character.character
        assert words[word].letters[place - 1] == character.box
    assert labels.characters[0, 0] == labels.places[0, 0] == 0


def test_patch_labels_come_in_merge_order(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """Patch p of token t lies at row 2·(t // columns) + p // 2, column 2·(t % columns) + p % 2."""
    page = pages[3]
    labels = label_page(page, sized_pixels(page.image, bundle.images))
    batch = whole_pages([labels], bundle.images)
    assert batch.characters.shape == batch.places.shape == (1, 64, LOOKS)
    assert batch.spelling.shape == (1, 16, 8)
    for index in range(64):
        token, within = divmod(index, 4)
        row, column = 2 * (token // 4) + within // 2, 2 * (token % 4) + within % 2
        for look, offset in enumerate((1, 3, 5, 7)):
            expected = labels.characters[row * 8 + 4, column * 8 + offset]
            assert int(batch.characters[0, index, look]) == expected
    assert (batch.characters > 0).any()


def test_a_token_shows_letters_by_their_order_in_the_word(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    labels = label_page(pages[3], sized_pixels(pages[3].image, bundle.images))
    batch = whole_pages([labels], bundle.images)
    assert batch.shown.shape == (1, 16, WORD_PLACES)
    letters, order = batch.characters.view(16, -1).tolist(), batch.places.view(16, -1).tolist()
    shown = 0
    for token, table in enumerate(batch.shown[0].tolist()):
        at = {place: letter for letter, place in zip(letters[token], order[token], strict=True) if place}
        assert table == [at.get(place, 0) for place in range(1, WORD_PLACES + 1)]
        shown += len(at)
    assert shown


@pytest.mark.parametrize("begins", [0.0, 0.6, 1.3, 1.9, 5.2])
def test_no_letter_is_too_narrow_to_be_asked_about(
    bundle: ModelBundle, pages: list[SeenPage], begins: float
) -> None:
    """An i of twelve pixels' height is two to three wide."""
    first, word = pages[0].characters[0], "illtilfril"
    narrow = tuple(
        replace(first, character=letter, word=0, box=(begins + 2.4 * n, 2.0, begins + 2.4 * (n + 1), 14.0))
        for n, letter in enumerate(word)
    )
    page = replace(pages[0], characters=narrow)
    batch = whole_pages([label_page(page, sized_pixels(page.image, bundle.images))], bundle.images)
    shown = batch.shown[0].amax(0).tolist()
    assert [letter(each) for each in shown[: len(word)]] == list(word)


def test_of_a_page_nobody_told_of_no_letter_is_known(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    untold = replace(pages[0], things=(), characters=())
    batch = whole_pages([label_page(untold, sized_pixels(untold.image, bundle.images))], bundle.images)
    assert (batch.shown == UNKNOWN).all()


def test_strips_carry_the_labels_of_what_they_show(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    labelled = [label_page(p, sized_pixels(p.image, bundle.images)) for p in pages]
    batch = strips(labelled, bundle.images, np.random.default_rng(0), token_rows=2)
    assert batch.pixels.shape == (12, 32, 64, 3)
    assert batch.window is not None
    assert batch.window.stop - batch.window.start == batch.characters.shape[1] == 32
    marked = (batch.characters > 0).any(-1)
    dark = (batch.pixels.float().mean(-1) < 128).reshape(12, 2, 2, 8, 4, 2, 8)
    dark = dark.permute(0, 1, 4, 2, 5, 3, 6).flatten(5).any(-1).reshape(12, 32)
    assert (dark & marked).sum() > 0.7 * marked.sum()


def test_the_last_letter_of_the_alphabet_has_a_class(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    first = replace(pages[0].characters[0], character=LATIN[-1])
    page = replace(pages[0], characters=(first,))
    labels = label_page(page, sized_pixels(page.image, bundle.images))
    assert labels.characters.max() == CHARACTER_CLASSES - 1
    assert labels.spelling[1, 0] == CHARACTER_CLASSES - 1
