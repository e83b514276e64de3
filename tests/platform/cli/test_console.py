"""What somebody wrote stands in lists and JSON as they wrote it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from pydantic import BaseModel
from rich.live import Live

from deskhand_platform.cli import console
from deskhand_platform.cli.console import Shown, out, percent, print_json, shown, table

WRITTEN = "Press [bold]OK[/bold], then [/b] :smile: [link=x"


ORDERS = "a\x1b]52;c;aGk=\x07b\x9b2Jc\rd\te\n\x7ff"
"""Fill the clipboard, clear the screen, write over the line."""
HARMLESS = "a\ufffd]52;c;aGk=\ufffdb\ufffd2Jcd\te\n\ufffdf"


class Said(BaseModel):
    text: str


def test_percents_are_rounded_as_the_page_rounds_them() -> None:
    assert [percent(share, 1) for share in (0.5625, 0.1, 0.0, 1.0, 2 / 3)] == [
        "56.3%", "10.0%", "0.0%", "100.0%", "66.7%"
    ]  # fmt: skip
    assert [percent(share) for share in (0.125, 0.115, 0.999)] == ["13%", "12%", "100%"]


def test_a_list_shows_what_looks_like_markup(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table("who", "text")
    lines.add_row("ada", WRITTEN)
    out.print(lines)
    assert WRITTEN in capsys.readouterr().out


def test_a_line_shows_what_looks_like_markup(capsys: pytest.CaptureFixture[str]) -> None:
    out.print(WRITTEN)
    assert WRITTEN in capsys.readouterr().out


def test_json_says_what_looks_like_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([Said(text=WRITTEN)])
    assert json.loads(capsys.readouterr().out) == [{"text": WRITTEN}]


def test_a_terminal_obeys_nothing_that_others_wrote() -> None:
    written = StringIO()
    terminal = Shown(file=written, force_terminal=True, highlight=False, width=200)
    terminal.print(ORDERS, end="")
    assert written.getvalue() == HARMLESS.expandtabs()
    lines = table("text")
    lines.add_row(ORDERS)
    terminal.print(lines)
    with Live(console=terminal) as live:
        live.update(ORDERS)
    assert not any(order in written.getvalue() for order in ("\x1b]", "\x07", "\x9b", "\x7f"))


def test_a_pipe_gets_what_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    out.print("a\x1b]0;b")
    assert capsys.readouterr().out == "a\x1b]0;b\n"
    assert shown(ORDERS) == ORDERS


def test_a_text_that_goes_to_a_terminal_as_it_is_gives_no_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "out", Shown(force_terminal=True))
    assert shown(ORDERS) == HARMLESS
