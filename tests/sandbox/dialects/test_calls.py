from __future__ import annotations

import pytest

from deskhand_sandbox.dialects.calls import CallSyntaxError, scan_calls, write_call


def test_values_are_texts_numbers_and_json() -> None:
    (call,) = scan_calls("""f(a='x', b="y", c=-3, d=2.5, e=[1, "z"], g={"k": null})""")
    assert call.name == "f"
    assert call.arguments == {"a": "x", "b": "y", "c": -3, "d": 2.5, "e": [1, "z"], "g": {"k": None}}


def test_whole_numbers_stay_whole() -> None:
    (call,) = scan_calls("f(a=3, b=3.0)")
    assert [type(value) for value in call.arguments.values()] == [int, float]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"'a\nb'", "a\nb"),
        (r"'it\'s'", "it's"),
        (r"'say \"hi\"'", 'say "hi"'),
        (r"'a\\b'", r"a\b"),
        (r"'\d+ C:\dir'", r"\d+ C:\dir"),
        (r"'é\xe9\u00e9\U000000e9'", "éééé"),
        (r"'\ud83d\ude00'", "😀"),
        ("'two\nlines'", "two\nlines"),
        ("'\ufeffx'", "\ufeffx"),
    ],
)
def test_escapes(written: str, meant: str) -> None:
    (call,) = scan_calls(f"f(a={written})")
    assert call.arguments["a"] == meant


def test_a_pair_of_escapes_in_json_is_one_character() -> None:
    (call,) = scan_calls(r"""f(a={"k": "\ud83d\ude00 \\ud83d"})""")
    assert call.arguments["a"] == {"k": r"😀 \ud83d"}


def test_positions_point_at_each_call() -> None:
    assert [call.position for call in scan_calls(" f()\n\ng( )")] == [1, 6]


def test_writing_escapes_what_reading_needs() -> None:
    assert (
        write_call("f", a="it's\n\\ \u2028", b=1, c={"k": "é"})
        == r"""f(a='it\'s\n\\ \u2028', b=1, c={"k": "é"})"""
    )


@pytest.mark.parametrize(
    ("text", "position", "expected"),
    [
        ("", 0, "an action"),
        ("f", 1, r"'\('"),
        ("f(", 2, "name=value"),
        ("f(a)", 3, "'='"),
        ("f(a=)", 4, "a quoted text"),
        ("f(a='x)", 7, "a closing '"),
        ("f(a='x' b='y')", 8, r"',' or '\)'"),
        ("f(a=1, a=2)", 7, "a only once"),
        ("f(a={x})", 5, "JSON"),
        (r"f(a='\ud83d')", 11, "texts without half a surrogate pair"),
        (r'f(a=["\ude00\ud83d"])', 4, "texts without half a surrogate pair"),
        (r'f(a={"\ud83d": 1})', 4, "texts without half a surrogate pair"),
        ('f(a=["\ud83d"])', 4, "texts without half a surrogate pair"),
        ("f() and more", 8, r"'\('"),
        ("1()", 0, "the name of an action"),
    ],
)
def test_what_is_wrong_and_where(text: str, position: int, expected: str) -> None:
    with pytest.raises(CallSyntaxError, match=f"expected {expected}") as caught:
        scan_calls(text)
    assert caught.value.position == position
