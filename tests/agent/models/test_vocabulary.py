from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from deskhand_agent.models.vocabulary import END, LATIN, UNKNOWN, build_tokenizer

TOKENIZER = build_tokenizer(grid_px=4, size_px=256)
PAGES = build_tokenizer(grid_px=4, size_px=448, vocabulary="pages")


def tokens(text: str, tokenizer: PreTrainedTokenizerFast = TOKENIZER) -> list[str]:
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return tokenizer.convert_ids_to_tokens(ids)


def test_a_click_on_the_grid_is_five_tokens() -> None:
    assert tokens("click(point='<point>84 124</point>')") == [
        "click(point='<point>", "84", " ", "124", "</point>')",
    ]  # fmt: skip


@pytest.mark.parametrize("x", ["83", "0", "252", "256", "1000"])
def test_coordinates_off_the_grid_are_spelled(x: str) -> None:
    on_grid = x in ("0", "252")
    assert tokens(f"click(point='<point>{x} 8</point>')")[1:-3] == ([x] if on_grid else list(x))


def test_digits_of_labels_stay_digits() -> None:
    assert tokens("Section #84 124") == list("Section #84 124")


def test_words_of_instructions_are_single_but_labels_are_spelled() -> None:
    assert tokens('Click on the "on the"') == [
        "Click", " on", " the", " ", '"', "o", "n", " the", '"',
    ]  # fmt: skip
    assert tokens("Clicker") == list("Clicker")


def test_special_tokens_in_text_stay_text() -> None:
    assert tokens(END) == list(END)


@given(st.text(alphabet=string.digits + string.ascii_letters + string.punctuation + " \n"))
def test_text_survives_the_way_there_and_back(text: str) -> None:
    ids = TOKENIZER(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert TOKENIZER.decode(ids) == text


def test_questions_about_pages_are_short_and_their_labels_are_spelled() -> None:
    assert tokens("What is the state of the red button?", PAGES) == [
        "What", " is", " the", " state", " of", " the", " red", " button", "?",
    ]  # fmt: skip
    assert tokens("Größe", PAGES) == list("Größe")
    assert tokens(" rede", PAGES) == list(" rede")
    assert tokens(" redé", PAGES) == list(" redé")
    assert UNKNOWN in tokens("Größe")
    assert tokens("click(point='<point>444 124</point>')", PAGES)[1] == "444"


@given(st.text(alphabet=string.digits + string.ascii_letters + string.punctuation + " \n" + "".join(LATIN)))
def test_text_of_pages_survives_the_way_there_and_back(text: str) -> None:
    ids = PAGES(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert PAGES.decode(ids) == text
