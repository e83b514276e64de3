"""Where the command line speaks: results to stdout, everything else to stderr."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.table import Table

out = Console(highlight=False)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """One sentence about what went wrong."""
    err.print(f"deskhand: {message}", markup=False, style="red")


def say(message: str) -> None:
    """One line about what is going on; not a result."""
    err.print(message, markup=False)


def table(*columns: str) -> Table:
    """An unadorned table that a pipe can read too."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, no_wrap=not out.is_terminal)
    return made


def when(at_s: float | None) -> str:
    """A time of day for a list."""
    return "" if at_s is None else datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M:%S")
