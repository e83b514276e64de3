from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.backends.android.text_entry import PART, text_lines


def typed(line: str) -> str:
    """What a device types for a line, as its `input` has it."""
    words = shlex.split(line)
    assert words[:2] == ["input", "text"] and len(words) == 3
    return words[2].replace("%s", " ")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=1000))
def test_plain_text_is_typed_as_it_is(text: str) -> None:
    lines = text_lines(text)
    assert "".join(map(typed, lines)) == text
    assert all(len(typed(line)) <= PART for line in lines)


def test_what_a_shell_or_input_would_change() -> None:
    for text in ("a b", "%s", "100%sure", "$(reboot)", "'", '"', "; rm -rf /", "\\n", "~", "*", " ", "%%ss"):
        assert "".join(map(typed, text_lines(text))) == text
    assert text_lines("") == []
    assert text_lines("a b") == ["input text a%sb"]
