"""X11's key names, checked against the table Xlib itself carries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.dialects.key_names import PYAUTOGUI
from deskhand_sandbox.dialects.keysyms import read_chord, write_chord
from deskhand_sandbox.errors import InvalidAction

ABLE = st.one_of(
    st.sampled_from(sorted(PYAUTOGUI)), st.characters(categories=("L", "N", "P", "S"), max_codepoint=0xFFFF)
)


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("a", ("a",)),
        ("A", ("A",)),
        ("Return", ("Enter",)),
        ("KP_0", ("0",)),
        ("KP_Enter", ("Enter",)),
        ("Page_Up", ("PageUp",)),
        ("Prior", ("PageUp",)),
        ("BackSpace", ("Backspace",)),
        ("alt+Tab", ("Alt", "Tab")),
        ("ctrl+shift+Escape", ("Control", "Shift", "Escape")),
        ("CTRL+S", ("Control", "S")),
        ("Control_L+Alt_R+Delete", ("Control", "Alt", "Delete")),
        ("super", ("Meta",)),
        ("Super_L+minus", ("Meta", "-")),
        ("ctrl+plus", ("Control", "+")),
        ("ctrl++", ("Control", "+")),
        ("+", ("+",)),
        ("space", (" ",)),
        ("U20AC", ("€",)),
        ("F24", ("F24",)),
        ("XF86Eject", ("XF86Eject",)),
        ("UD800", ("UD800",)),
    ],
)
def test_names_are_read(written: str, keys: tuple[str, ...]) -> None:
    assert read_chord(written) == keys


@pytest.mark.parametrize("nothing", ["", "  "])
def test_no_key_is_refused(nothing: str) -> None:
    with pytest.raises(InvalidAction, match="names no keys"):
        read_chord(nothing)


@given(st.lists(ABLE, min_size=1, max_size=4).map(tuple))
def test_what_is_written_is_read_back(keys: tuple[str, ...]) -> None:
    assert read_chord(write_chord(keys)) == keys


def test_what_is_written_are_names_that_xlib_knows() -> None:
    xk = pytest.importorskip("Xlib.XK")
    short = {"ctrl": "Control_L", "alt": "Alt_L", "shift": "Shift_L", "super": "Super_L"}
    names = [write_chord((key,)) for key in (*PYAUTOGUI, *map(chr, range(32, 127)))]
    assert [name for name in names if not xk.string_to_keysym(short.get(name, name))] == []
