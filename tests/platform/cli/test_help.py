"""Every command says by an example how it is used, and the example is one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from deskhand_platform.cli.app import app


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:  # another name of commands that are here
            yield from commands(below, *path, name)
    if not hasattr(command, "commands"):
        yield path, command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_command_has_an_example_that_it_takes(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.jsonl").touch()
    written = re.findall(r"deskhand [^·\n]*", COMMANDS[path].epilog or "")
    examples = [words for words in map(shlex.split, written) if tuple(words[1 : 1 + len(path)]) == path]
    assert examples, f"deskhand {' '.join(path)} --help shows no example"
    for words in examples:
        with COMMANDS[path].make_context(path[-1], words[1 + len(path) :]):
            pass
