from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.backends.android.adb.device import COMMAND_S
from deskhand_sandbox.backends.android.gestures import (
    MAX_STROKES,
    click_lines,
    drag_lines,
    scaled,
    scroll_lines,
    swipe_lines,
    takes_s,
    touch_lines,
)
from deskhand_sandbox.types import Click, Drag, Scroll, Swipe, Touch

SIZE = (412, 915)


def test_clicks_and_touches() -> None:
    assert click_lines(Click(x=1, y=2)) == ["input tap 1 2"]
    assert click_lines(Click(x=1, y=2, count=2)) == ["input tap 1 2", "input tap 1 2"]
    assert click_lines(Click(x=1, y=2, button="right")) == ["input swipe 1 2 1 2 800"]
    assert touch_lines(Touch(x=1, y=2)) == ["input tap 1 2"]
    assert touch_lines(Touch(x=1, y=2, hold_ms=700)) == ["input swipe 1 2 1 2 700"]


def test_strokes() -> None:
    assert swipe_lines(Swipe(path=((1, 2), (3, 4)))) == ["input swipe 1 2 3 4 300"]
    assert swipe_lines(Swipe(path=((1, 2), (3, 4), (5, 6)), duration_ms=200)) == [
        "input motionevent DOWN 1 2",
        "sleep 0.100",
        "input motionevent MOVE 3 4",
        "sleep 0.100",
        "input motionevent MOVE 5 6",
        "input motionevent UP 5 6",
    ]
    assert drag_lines(Drag(path=((1, 2), (3, 4)))) == ["input draganddrop 1 2 3 4 1000"]
    assert drag_lines(Drag(path=((1, 2), (3, 4), (5, 6))))[:2] == ["input motionevent DOWN 1 2", "sleep 0.8"]


def test_a_scroll_moves_the_finger_against_the_content() -> None:
    assert scroll_lines(Scroll(x=200, y=500, dy_px=300), SIZE) == ["input swipe 200 500 200 200 450"]
    assert scroll_lines(Scroll(x=200, y=500, dy_px=-300), SIZE) == ["input swipe 200 500 200 800 450"]
    assert scroll_lines(Scroll(x=200, y=500, dx_px=100), SIZE) == ["input swipe 200 500 100 500 200"]
    assert scroll_lines(Scroll(x=200, y=500), SIZE) == []


@given(
    st.integers(0, SIZE[0] - 1),
    st.integers(0, SIZE[1] - 1),
    st.integers(-5000, 5000),
    st.integers(-5000, 5000),
)
def test_scrolls_go_the_whole_way_and_stay_on_the_screen(x: int, y: int, dx: int, dy: int) -> None:
    lines = scroll_lines(Scroll(x=x, y=y, dx_px=dx, dy_px=dy), SIZE)
    went = [0, 0]
    for line in lines:
        x0, y0, x1, y1, _ = map(int, line.split()[2:])
        assert 0 <= x0 < SIZE[0] and 0 <= x1 < SIZE[0] and 0 <= y0 < SIZE[1] and 0 <= y1 < SIZE[1]
        went[0] += x0 - x1
        went[1] += y0 - y1
    if len(lines) < MAX_STROKES:
        assert went == [dx, dy]


def test_gestures_take_no_longer_than_calls_may() -> None:
    far = scroll_lines(Scroll(x=200, y=500, dy_px=1_000_000), (1080, 2400))
    assert 0 < sum(int(line.split()[-1]) for line in far) / 1000 < takes_s(Scroll(x=0, y=0)) + COMMAND_S
    path = tuple((n, n % 7) for n in range(400))
    for action, lines in (
        (Swipe(path=path), swipe_lines(Swipe(path=path))),
        (Drag(path=path), drag_lines(Drag(path=path))),
    ):
        moves = [line for line in lines if "MOVE" in line]
        assert len(moves) < 40 and moves[-1] == "input motionevent MOVE 399 0"
        assert len(moves) * 0.25 < takes_s(action)


@given(st.integers(100, 3000), st.integers(100, 3000), st.data())
def test_a_touch_lands_in_the_same_place_at_every_scale(across: int, down: int, data: st.DataObject) -> None:
    shown, counted = (across, down), (data.draw(st.integers(100, 3000)), data.draw(st.integers(100, 3000)))
    point = data.draw(st.integers(0, across - 1)), data.draw(st.integers(0, down - 1))
    x, y = scaled(point, shown, counted)
    assert 0 <= x < counted[0] and 0 <= y < counted[1]
    # the pixel that is touched lies over the middle of the one that was meant
    assert x * across <= (point[0] + 0.5) * counted[0] < (x + 1) * across
    assert y * down <= (point[1] + 0.5) * counted[1] < (y + 1) * down
    assert scaled(point, shown, shown) == point


def test_every_line_is_of_plain_words() -> None:
    """So that nothing of an action is ever a shell's to read."""
    for line in [*drag_lines(Drag(path=((1, 2), (3, 4), (5, 6)))), *click_lines(Click(x=1, y=2))]:
        assert re.fullmatch(r"[a-zA-Z0-9. -]+", line)
