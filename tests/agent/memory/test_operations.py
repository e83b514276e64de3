from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.memory.operations import Notes, Operations, changed
from deskhand_agent.types import Step

TWO = Notes(texts={1: "red", 2: "blue"}, given=2)


@pytest.mark.parametrize(
    ("writing", "texts", "refused"),
    [
        ("insert: green", {1: "red", 2: "blue", 3: "green"}, 0),
        ("update 1: dark  red", {2: "blue", 1: "dark red"}, 0),
        ("delete 1\n\ndelete 2", {}, 0),
        ("delete 2\ninsert: green", {1: "red", 3: "green"}, 0),  # numbers are given once
        ("insert: green\nupdate 3: lime", {1: "red", 2: "blue", 3: "lime"}, 0),
        ("delete 9\nupdate 0: x\ninsert:\nnothing new\ndelete 1", {2: "blue"}, 4),
        ("delete 99999999999999999999", {1: "red", 2: "blue"}, 1),
        ("", {1: "red", 2: "blue"}, 0),
    ],
)
def test_changes_are_carried_out_line_by_line(writing: str, texts: dict[int, str], refused: int) -> None:
    notes = changed(TWO, writing, chars=99)
    assert list(notes.texts.items()) == list(texts.items()) and notes.refused == refused


def test_the_least_recently_written_make_room() -> None:
    notes = changed(TWO, "update 1: red again\ninsert: green", chars=29)
    assert str(notes) == "1. red again\n3. green"
    assert changed(TWO, "insert: " + "x" * 30, chars=30) == Notes(texts=TWO.texts, given=2, refused=1)


@given(st.lists(st.text()), st.integers(0, 60))
def test_no_writing_breaks_them_and_they_are_bounded(writings: list[str], chars: int) -> None:
    notes = Notes()
    for writing in ("insert: a\ninsert: b", *writings, "update 2: c\ninsert: d"):
        notes = changed(notes, writing, chars=chars)
        assert sum(len(f"{number}. {text}\n") for number, text in notes.texts.items()) <= chars


def test_they_stand_in_place_of_the_turns_before(step: Callable[..., Step]) -> None:
    memory = Operations(after=2, chars=99)
    steps = [step(0, "a"), step(1, "insert: saw b", wrote=True), step(2, "c"), step(3, "d")]
    assert [memory.due(steps[:n]) for n in range(5)] == [False, False, False, False, True]
    assert memory.recall(steps).written == "1. saw b"
    assert memory.recall(steps).steps == (steps[2], steps[3])
    wrong = [*steps, step(4, "hm\ndelete 1", wrote=True)]
    assert memory.recall(wrong).written == "(1 lines of your last changes could not be carried out)"
    assert memory.recall([]).written == ""
