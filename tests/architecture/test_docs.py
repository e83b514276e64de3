"""What the documentation shows is what happens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(page.name, code) for page in PAGES for code in fence.findall(page.read_text())]


RUN = """
import json, sys, traceback

failed = False
for number, code in enumerate(json.load(sys.stdin)):
    try:
        exec(code, {"__name__": "__main__"})
    except BaseException:
        print(f"{sys.argv[1]}, block {number + 1}:\\n{traceback.format_exc()}", file=sys.stderr)
        failed = True
sys.exit(failed)
"""
"""Each block in names of its own: what it has no import for it lacks."""


@pytest.mark.parametrize("page", sorted({page for page, _ in blocks("python")}))
def test_python_blocks_run(page: str) -> None:
    codes = json.dumps([code for name, code in blocks("python") if name == page])
    command = [sys.executable, "-c", RUN, page]
    result = subprocess.run(command, input=codes, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def deskhand_lines() -> list[list[str]]:
    return [
        line.split() for _, code in blocks("sh") for line in code.splitlines() if line.startswith("deskhand ")
    ]


@pytest.mark.parametrize("words", deskhand_lines(), ids=" ".join)
def test_commands_and_their_options_exist(words: list[str]) -> None:
    options = [word for word in words if re.fullmatch(r"--?[a-z-]+", word)]
    commands = [word for word in words[1:3] if re.fullmatch(r"[a-z]+", word)]
    shown = passed_on_help(*commands) if commands[0] in ("bench", "study") else own_help(commands)
    assert [option for option in options if option not in shown] == []


@cache
def passed_on_help(kind: str, name: str = "") -> str:
    """A measurement explains itself; here in this process, which has loaded what it needs."""
    from deskhand_platform.cli.benches import BENCHES, STUDIES

    if not name:
        return own_help([kind])
    shown = StringIO()
    module = {"bench": BENCHES, "study": STUDIES}[kind][name]
    found = import_module(module)
    if hasattr(found, "__path__"):
        found = import_module(f"{module}.__main__")
    with redirect_stdout(shown), pytest.raises(SystemExit) as ended:
        found.main(["--help"])
    assert ended.value.code == 0
    return shown.getvalue()


def own_help(commands: list[str]) -> str:
    from typer.testing import CliRunner

    from deskhand_platform.cli.app import app

    for depth in (len(commands), 1):
        shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*commands[:depth], "--help"])
        if shown.exit_code == 0:
            break
    assert shown.exit_code == 0
    return shown.output


def test_links_between_pages_lead_somewhere() -> None:
    link = re.compile(r"\]\((?!https?:)([^)#]+)")
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in link.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert missing == []
