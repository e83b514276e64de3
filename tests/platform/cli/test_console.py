"""What somebody wrote stands in lists and JSON as they wrote it."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from deskhand_platform.cli.console import out, print_json, table

WRITTEN = "Press [bold]OK[/bold], then [/b] :smile: [link=x"


class Said(BaseModel):
    text: str


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
