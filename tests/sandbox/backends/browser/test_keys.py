import string

import pytest

from deskhand_sandbox.backends.browser.keys import KEYS, MODIFIERS, find_key
from deskhand_sandbox.errors import InvalidAction


def test_every_printable_ascii_character_has_a_key() -> None:
    for character in string.printable:
        if character.isprintable():
            key = find_key(character)
            assert (key.key, key.text) == (character, character)
            assert key.code


def test_shifted_characters_share_a_key_with_plain_ones() -> None:
    for plain, shifted in ("aA", "1!", "/?", "`~", "\\|", "'\""):
        assert find_key(plain).code == find_key(shifted).code
        assert (find_key(plain).shifted, find_key(shifted).shifted) == (False, True)


def test_line_ends_and_tabs_are_keys() -> None:
    assert (find_key("\n").key, find_key("\t").key) == ("Enter", "Tab")
    assert set(MODIFIERS) <= set(KEYS)


def test_other_characters_type_themselves() -> None:
    assert (find_key("ß").text, find_key("ß").code) == ("ß", "")


def test_an_unknown_key_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidAction, match="did you mean Enter"):
        find_key("Entr")
