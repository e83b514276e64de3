"""The command line, made once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
import typer.main


@pytest.fixture(scope="session", autouse=True)
def _commands_made_once() -> Iterator[None]:
    """A process runs one command and makes the tree of all for it; a session of tests runs hundreds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield
