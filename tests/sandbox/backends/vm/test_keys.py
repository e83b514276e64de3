from __future__ import annotations

import string

import pytest

from deskhand_sandbox.backends.vm.keys import CHARACTERS, qemu_keys
from deskhand_sandbox.errors import InvalidAction


def test_every_printable_ascii_character_has_a_key() -> None:
    assert set(string.printable) - set("\r\x0b\x0c") == set(CHARACTERS)
    assert len({pressed for pressed in CHARACTERS.values() if pressed != ("ret", False)}) == 96


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a", ("a",)),
        ("A", ("shift", "a")),
        ("%", ("shift", "5")),
        ("|", ("shift", "backslash")),
        ("Control", ("ctrl",)),
        ("F12", ("f12",)),
        (" ", ("spc",)),
        ("é", None),
    ],
)
def test_keys_are_named_as_qemu_names_them(name: str, keys: tuple[str, ...] | None) -> None:
    assert qemu_keys(name) == keys


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidAction, match="did you mean ArrowDown"):
        qemu_keys("ArowDown")
