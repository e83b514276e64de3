"""Boards as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.boards.grid import MOST_CELLS, as_lines, read_board, where
from deskhand_sandbox.errors import InvalidTask


@given(width=st.integers(1, 8), height=st.integers(1, 8), data=st.data())
def test_a_board_is_read_as_it_is_written(width: int, height: int, data: st.DataObject) -> None:
    cells = data.draw(st.text("#@-", min_size=width * height, max_size=width * height))
    text = as_lines(cells, width)
    assert [len(line) for line in text.split("\n")] == [width] * height
    assert read_board(text, "a board") == (cells, width)


@pytest.mark.parametrize("text", ["", "--\n-", "-\n\n-", "-" * (MOST_CELLS + 1), None, 7, ["--"]])
def test_what_is_no_board_is_refused(text: object) -> None:
    with pytest.raises(InvalidTask, match="a lake has lines of one length and at most 1024 cells"):
        read_board(text, "a lake")


def test_where_marks_stand() -> None:
    assert where("#.*+@$", ".*+") == {1, 2, 3}
    assert where(list("-@-"), "@") == {1}
    assert where("", "@") == frozenset()
