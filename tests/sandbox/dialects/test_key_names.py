from __future__ import annotations

import pytest

from deskhand_sandbox.dialects.key_names import (
    PYAUTOGUI,
    from_w3c,
    split_chord,
    to_w3c,
    with_shift,
    without_capitals,
)


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("a", ["a"]),
        ("+", ["+"]),
        ("ctrl+c", ["ctrl", "c"]),
        ("ctrl+shift+t", ["ctrl", "shift", "t"]),
        ("Control++", ["Control", "+"]),
        ("++Space", ["+", "Space"]),
        ("ctrl+", ["ctrl"]),
        ("", [""]),
    ],
)
def test_chords_are_split_at_the_plus_between_names(word: str, names: list[str]) -> None:
    assert split_chord(word) == names


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ctrl", "Control"),
        ("return", "Enter"),
        ("pgdn", "PageDown"),
        ("page_up", "PageUp"),
        ("ARROWLEFT", "ArrowLeft"),
        ("contextmenu", "ContextMenu"),
        ("f12", "F12"),
        ("A", "A"),
        (" ", " "),
        ("frobnicate", "frobnicate"),
    ],
)
def test_names_are_read_in_any_case(theirs: str, ours: str) -> None:
    assert to_w3c(theirs) == ours


def test_what_is_written_is_read_back() -> None:
    assert [to_w3c(from_w3c(key)) for key in PYAUTOGUI] == list(PYAUTOGUI)


@pytest.mark.parametrize(
    ("keys", "meant", "same"),
    [
        (("Control", "A"), ("Control", "a"), ("Control", "Shift", "a")),
        (("Meta", "Alt", "Z"), ("Meta", "Alt", "z"), ("Meta", "Alt", "Shift", "z")),
        (("Control", "Shift", "T"), ("Control", "Shift", "T"), ("Control", "Shift", "T")),
        (("Control", "Ä"), ("Control", "Ä"), ("Control", "Ä")),
        (("Control", "+"), ("Control", "+"), ("Control", "+")),
        (("A",), ("A",), ("A",)),
        (("A", "b"), ("A", "b"), ("A", "b")),
    ],
)
def test_a_capital_of_a_command_names_the_key(
    keys: tuple[str, ...], meant: tuple[str, ...], same: tuple[str, ...]
) -> None:
    assert without_capitals(keys) == meant
    assert with_shift(keys) == same == without_capitals(with_shift(keys))
