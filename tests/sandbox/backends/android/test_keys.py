from __future__ import annotations

import pytest

from deskhand_sandbox.backends.android.keys import CODES, NAMES, key_codes
from deskhand_sandbox.errors import InvalidAction


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("a", (29,)),
        ("z", (54,)),
        ("A", (59, 29)),
        ("?", (59, 76)),
        ("!", (59, 8)),
        ("0", (7,)),
        ("9", (16,)),
        ("Enter", (66,)),
        ("Backspace", (67,)),
        ("F5", (135,)),
        (" ", (62,)),
        ("@", (77,)),
        ("ArrowDown", (20,)),
        ("GoHome", (3,)),
    ],
)
def test_names_have_androids_codes(name: str, codes: tuple[int, ...]) -> None:
    assert key_codes(name) == codes


def test_every_code_has_a_name_that_leads_back() -> None:
    assert all(CODES[NAMES[code]] == code for code in CODES.values())


def test_every_character_of_a_us_keyboard_is_a_key() -> None:
    pressed = [key_codes(chr(point)) for point in range(ord(" "), ord("~") + 1)]
    assert len(set(pressed)) == len(pressed)


def test_an_unknown_key_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidAction, match="did you mean Backspace"):
        key_codes("Backspac")
    with pytest.raises(InvalidAction, match="unknown key 'é'"):
        key_codes("é")
