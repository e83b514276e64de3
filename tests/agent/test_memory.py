from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.memory import MemoryView, WindowMemory

LINES = ["click a", "click b", "click c", "click d"]


@pytest.mark.parametrize(
    ("n_screenshots", "action_chars", "view"),
    [
        (1, 2000, MemoryView(dropped=0, lines=tuple(LINES), screenshots=0)),
        (3, 2000, MemoryView(dropped=0, lines=("click a", "click b"), screenshots=2)),
        (9, 2000, MemoryView(dropped=0, lines=(), screenshots=4)),
        (1, 16, MemoryView(dropped=2, lines=("click c", "click d"), screenshots=0)),
        (1, 15, MemoryView(dropped=3, lines=("click d",), screenshots=0)),
        (2, 0, MemoryView(dropped=3, lines=(), screenshots=1)),
    ],
)
def test_what_is_shown(n_screenshots: int, action_chars: int, view: MemoryView) -> None:
    assert WindowMemory(n_screenshots=n_screenshots, action_chars=action_chars).view(LINES) == view


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(ValueError, match="screens is 'sound': give picture, text, both"):
        WindowMemory(screens="sound")  # pyright: ignore[reportArgumentType]


@given(st.lists(st.text()), st.integers(1, 5), st.integers(0, 50))
def test_every_turn_is_counted_once_and_the_text_is_bounded(
    lines: list[str], n_screenshots: int, action_chars: int
) -> None:
    view = WindowMemory(n_screenshots=n_screenshots, action_chars=action_chars).view(lines)
    assert view.dropped + len(view.lines) + view.screenshots == len(lines)
    assert sum(len(line) + 1 for line in view.lines) <= action_chars
    older = lines[: len(lines) - view.screenshots]
    assert list(view.lines) == older[view.dropped :]


@pytest.mark.parametrize("wrong", [{"n_screenshots": 0}, {"action_chars": -1}])
def test_senseless_windows_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        WindowMemory(**wrong)
