from __future__ import annotations

import pytest

from deskhand_sandbox.terminal.screen import BACKLOG_BYTES, TerminalScreen


def test_text_cursor_and_colours() -> None:
    screen = TerminalScreen(columns=20, rows=4)
    screen.feed(b"\x1b[1;31mred\x1b[0m\r\ntwo\x1b[4;10Hx")
    assert screen.text() == "red\ntwo\n\n         x"
    assert screen.cursor == (10, 3)


def test_characters_cut_in_two_are_whole_again() -> None:
    screen = TerminalScreen()
    for byte in "é日".encode():
        screen.feed(bytes([byte]))
    assert screen.text().startswith("é日")


def test_what_editors_send_does_not_break_it() -> None:
    screen = TerminalScreen()
    screen.feed(b"\x1b[?4m\x1b[>4;2m\x1b[?1006;1000h\x1b[22;0;0tok")
    assert screen.text().endswith("ok")


@pytest.mark.parametrize(
    ("fed", "shown"),
    [("日本", "日本"), ("日本\ra", "a 本"), ("日本\b\bx", "日x"), ("日b\r\x1b[P", " b")],
)
def test_half_a_wide_character_is_a_blank(fed: str, shown: str) -> None:
    screen = TerminalScreen(columns=8, rows=2)
    screen.feed(fed.encode())
    assert screen.text() == shown


@pytest.mark.parametrize("given", ["", "5", "5;5", "5;5;5", "99999", ";", ":", "\xb2", "1" * 5000])
def test_no_sequence_breaks_it(given: str) -> None:
    screen = TerminalScreen(columns=8, rows=2, reply=lambda _: None)
    for prefix in ("", "?", ">", "="):
        for final in map(chr, range(0x40, 0x7F)):
            screen.feed(f"\x1b[{prefix}{given}{final}\x1bcon".encode())
            assert screen.text() == "on", (prefix, final)


def test_questions_are_answered() -> None:
    answers: list[bytes] = []
    screen = TerminalScreen(reply=answers.append)
    screen.feed(b"ab\x1b[6n\x1b[c")
    assert answers == [b"\x1b[1;3R", b"\x1b[?6c"]


def test_a_flood_is_not_kept() -> None:
    screen = TerminalScreen(columns=40, rows=3)
    for number in range(40):
        screen.feed(b"".join(b"line %d %d\r\n" % (number, i) for i in range(2000)))
        assert len(screen._waiting) <= BACKLOG_BYTES
    assert screen.text().splitlines()[-1] == "line 39 1999"


def test_resizing_keeps_what_fits() -> None:
    screen = TerminalScreen(columns=20, rows=4)
    screen.feed(b"first line\r\nsecond")
    screen.resize(6, 2)
    assert (screen.columns, screen.rows) == (6, 2)
    assert screen.lines()[0].startswith("first")
