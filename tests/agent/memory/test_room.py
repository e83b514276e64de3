from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.memory.base import newest_within
from deskhand_agent.memory.room import LINES_IN_ROOM, clipped, each_within, fair_share, size


@pytest.mark.parametrize(
    ("sizes", "room", "share"),
    [
        ([], 10, 0),
        ([3, 4], 10, 4),
        ([5, 5], 10, 5),
        ([9, 1], 8, 7),
        ([9, 9, 1], 9, 4),
        ([9, 9, 9], 2, 0),
        ([1, 1], -4, 0),
    ],
)
def test_what_one_does_not_need_the_others_get(sizes: list[int], room: int, share: int) -> None:
    assert fair_share(sizes, room) == share


@given(st.lists(st.integers(0, 99), min_size=1), st.integers(0, 999))
def test_a_share_fits_and_no_greater_one_does(sizes: list[int], room: int) -> None:
    share = fair_share(sizes, room)
    assert sum(min(each, share) for each in sizes) <= room
    if share < max(sizes):
        assert sum(min(each, share + 1) for each in sizes) > room


@given(st.text(), st.integers(0, 80))
def test_a_cut_text_keeps_to_its_bytes_and_whole_characters(text: str, longest: int) -> None:
    cut = clipped(text, longest)
    assert size(cut) <= longest or cut == text
    assert (cut == text) == (size(text) <= longest) or not text
    cut.encode()


def test_both_ends_are_kept_and_it_says_how_long_it_was() -> None:
    cut = clipped("a" * 50 + "b" * 50, 60)
    assert cut == "a" * 15 + " (shortened from 100 bytes) " + "b" * 15 or (cut[0], cut[-1]) == ("a", "b")
    assert "(shortened from 100 bytes)" in cut
    assert clipped("naïve", 3) == "na"


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(0, 30))
def test_no_line_hides_those_before_and_what_fits_stays(lines: list[str], room: int) -> None:
    cut = each_within(lines, room)
    assert all(new == old for new, old in zip(cut, lines, strict=True) if len(old) < room)
    if room >= LINES_IN_ROOM:
        assert newest_within(cut, room)[-1:] == cut[-1:]
