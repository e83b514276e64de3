from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.memory.base import newest_within, since_writing, turns, writings
from deskhand_agent.types import Step

LINES = ("click a", "click b", "click c", "click d")


@pytest.mark.parametrize(
    ("room", "kept"), [(32, LINES), (31, LINES[1:]), (16, LINES[2:]), (15, LINES[3:]), (7, ()), (0, ())]
)
def test_the_newest_lines_that_fit_are_kept(room: int, kept: tuple[str, ...]) -> None:
    assert newest_within(LINES, room) == kept


@given(st.lists(st.text()), st.integers(0, 50))
def test_nothing_is_kept_after_a_gap_and_the_text_is_bounded(lines: list[str], room: int) -> None:
    kept = newest_within(lines, room)
    assert sum(len(line) + 1 for line in kept) <= room
    assert list(kept) == lines[len(lines) - len(kept) :]


def test_turns_and_writings_are_told_apart(step: Callable[..., Step]) -> None:
    steps = [step(0, "a"), step(1, "one", wrote=True), step(2, "b"), step(3, "two", wrote=True), step(4, "c")]
    assert writings(steps) == ("one", "two")
    assert turns(steps) == (steps[0], steps[2], steps[4])
    assert since_writing(steps) == (steps[4],)
    assert since_writing(steps[:1]) == (steps[0],) and since_writing(steps[:2]) == ()
