from __future__ import annotations

import pytest

from deskhand_sandbox.backends.action_checks import (
    MAX_NOTCHES,
    MAX_SCROLL_PX,
    check_action,
    typed_text,
    wheel_turns,
)
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import DeviceAction, Scroll, Swipe, Touch, Wait


@pytest.mark.parametrize(
    "text",
    ["a\u3000b", "5\u00a0km", "👩\u200d🚀", "שלום\u200f", "co\u00adop", "e\u0301", "a\nb\tc"],
)
def test_any_character_but_a_control_is_typed(text: str) -> None:
    assert typed_text(text) == text


def test_every_line_end_is_one_enter() -> None:
    assert typed_text("a\r\nb\rc\n") == "a\nb\nc\n"


@pytest.mark.parametrize("text", ["bell\a", "\x1b[2J", "\x7f", "\x85", "half \ud83d"])
def test_control_characters_and_halves_of_pairs_are_refused(text: str) -> None:
    with pytest.raises(InvalidAction, match="no character a keyboard types"):
        typed_text(text)


def test_the_wheel_turns_at_least_once_for_any_distance_and_never_for_ever() -> None:
    assert [wheel_turns(distance) for distance in (0, 1, 149, 251, -1, -300)] == [0, 1, 1, 3, -1, -3]
    assert [wheel_turns(distance) for distance in (10**6, -MAX_SCROLL_PX)] == [MAX_NOTCHES, -MAX_NOTCHES]


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Touch(x=1, y=2, hold_ms=60_001), "a touch takes 0 to 60000 ms, not 60001"),
        (Touch(x=1, y=2, hold_ms=10**400), "not 10000000000000000000$"),
        (Swipe(path=((1, 2), (3, 4)), duration_ms=-1), "a swipe takes 0 to 60000 ms, not -1"),
        (Wait(seconds=float("nan")), "a wait takes 0 to 600 seconds, not nan"),
        (Wait(seconds=10**400), "not 10000000000000000000$"),
        (Scroll(x=1, y=2, dy_px=MAX_SCROLL_PX + 1), "a scroll goes up to 1000000000000000000 pixels"),
        (Scroll(x=1, y=2, dx_px=-(10**400)), "a scroll goes up to"),
    ],
)
def test_numbers_that_nothing_can_be_done_with_are_refused(action: DeviceAction, why: str) -> None:
    with pytest.raises(InvalidAction, match=why):
        check_action(action, (10, 10))


@pytest.mark.parametrize(
    "action", [Touch(x=1, y=2, hold_ms=60_000), Wait(seconds=600), Scroll(x=1, y=2, dy_px=-MAX_SCROLL_PX)]
)
def test_what_is_long_but_can_be_done_is_let_through(action: DeviceAction) -> None:
    check_action(action, (10, 10))
