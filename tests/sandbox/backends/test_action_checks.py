from __future__ import annotations

import pytest

from deskhand_sandbox.backends.action_checks import typed_text
from deskhand_sandbox.errors import InvalidAction


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
