from __future__ import annotations

import pytest

from deskhand_agent.grammar.keys import read_keys, write_keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ctrl c", ("Control", "c")),
        ("ctrl+c", ("Control", "c")),
        ("Ctrl+Shift+T", ("Control", "Shift", "T")),
        ("Ctrl+C", ("Control", "c")),
        ("cmd A", ("Meta", "a")),
        ("A", ("A",)),
        ("ctrl++", ("Control", "+")),
        ("+", ("+",)),
        ("ctrl++++", ("Control", "+", "+")),
        ("++++", ("++", "+")),
        ("cmd space", ("Meta", " ")),
        ("Return", ("Enter",)),
        ("page_down", ("PageDown",)),
        ("f12", ("F12",)),
        ("ArrowLeft", ("ArrowLeft",)),
        ("é", ("é",)),
        ("", ()),
    ],
)
def test_names_models_write(text: str, keys: tuple[str, ...]) -> None:
    assert read_keys(text) == keys


def test_short_names_are_written_where_they_read_back() -> None:
    assert write_keys(("Control", "Shift", "Escape")) == {"key": "ctrl shift esc"}
    assert write_keys(("ctrl",)) == {"keys": ["ctrl"]}
    assert write_keys(("a b",)) == {"keys": ["a b"]}
    assert write_keys(("Control", "A")) == {"keys": ["Control", "A"]}
