"""The command line, made once, and run inside the tests' own process."""

from __future__ import annotations

import asyncio
import functools
import io
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from deskhand_platform.cli import signals
from deskhand_platform.cli.app import main


class Ended(NamedTuple):
    """How a command ended, what it printed, and what it said besides."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _commands_made_once() -> Iterator[None]:
    """A process runs one command and makes the tree of all for it; a session of tests runs hundreds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture
def deskhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs a command as a process of its own would, in a fraction of the time that one takes to start."""
    monkeypatch.delenv("DESKHAND_URL", raising=False)
    monkeypatch.delenv("DESKHAND_TOKEN", raising=False)

    def run(*arguments: object, home: Path = tmp_path / "home", told: str = "", **environment: str) -> Ended:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"DESKHAND_HOME": str(home), "COLUMNS": "200", **environment}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["deskhand", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(told))
            logging.root.addHandler(logging.lastResort)
            try:
                main()
                status = 0
            except SystemExit as ended:
                status = int(ended.code or 0)
            finally:
                logging.root.removeHandler(logging.lastResort)
        return Ended(status, *capsys.readouterr())

    return run


@pytest.fixture
def beside(
    deskhand: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Awaitable[Ended]]:
    """`deskhand` in a thread, beside what the test's own loop serves; no signal reaches it there."""
    monkeypatch.setattr(signals, "STOPPED", {})
    return functools.partial(asyncio.to_thread, deskhand)


@pytest.fixture
def there(
    beside: Callable[..., Awaitable[Ended]], url: str, token: str, tmp_path: Path
) -> Callable[..., Awaitable[Ended]]:
    """As `beside`, of the platform at the address, from a home that holds nothing, and keeps doing so."""
    home = tmp_path / "away"

    async def asked(*arguments: str, token: str = token, told: str = "") -> Ended:
        answer = await beside(*arguments, "--url", url, home=home, told=told, DESKHAND_TOKEN=token)
        assert not (home / "deskhand.db").exists()
        return answer

    return asked
