"""Where the command line speaks: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from deskhand_platform.errors import InvalidField

Json = Annotated[bool, typer.Option("--json", help="as JSON")]
PIPED_COLUMNS = 10_000
"""Nobody's window limits what goes into a pipe."""
COMMANDS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"} | {
    0x0D: None
}
"""What a terminal does not show but obeys: it moves the cursor, sets the title, fills the clipboard."""


class Shown(Console):
    """Shows what people, pages and models wrote; a terminal obeys none of it."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(text.translate(COMMANDS) if self.is_terminal else text, **how)


# what people and models write is shown as it stands: no markup in it, no ":smile:"
out = Shown(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else PIPED_COLUMNS)
err = Shown(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def shown(text: str) -> str:
    """A text for stdout that goes there as it is, unless that is a terminal which would obey some of it."""
    return text.translate(COMMANDS) if out.is_terminal else text


def percent(share: float, digits: int = 0) -> str:
    """A share of 1, rounded as the page rounds it: .5625 is 56.3%, and .125 13%."""
    return f"{Decimal(share * 100).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)}%"


def complain(message: str) -> None:
    """One sentence about what went wrong."""
    err.print(f"deskhand: {message}", style="red")


def say(message: str) -> None:
    """One line about what is going on; not a result."""
    err.print(message)


def table(*columns: str) -> Table:
    """An unadorned table that a pipe can read too; in a window the names in its first column stay whole."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for at, column in enumerate(columns):
        made.add_column(column, no_wrap=at == 0 or not out.is_terminal, overflow="fold")
    return made


def print_json(found: Sequence[BaseModel]) -> None:
    """For `--json` of a list."""
    shown = [one.model_dump(mode="json") for one in found]
    out.print(json.dumps(shown), soft_wrap=True)


@contextmanager
def bars() -> Generator[Callable[[str, int, int | None], None]]:
    """A bar for each thing that is counted, for a person who waits; nothing in a log.

    Yields what is told the thing, how many of it are done, and of how many (None: not known yet).
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        of: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int | None) -> None:
            if what not in of:
                of[what] = shown.add_task(what, total=None)
            shown.update(of[what], completed=done, total=total)

        yield tell


def unix_time(at: datetime | None, option: str) -> float | None:
    """Of what an option says.

    Raises:
        InvalidField: it lies before or after every time that this machine counts.
    """
    try:
        return None if at is None else at.timestamp()
    except (OverflowError, OSError, ValueError) as error:
        raise InvalidField(option, f"{at} is no time that this machine counts, e.g. 2026-01-31") from error


def when(at_s: float | None) -> str:
    """A time of day for a list."""
    return "" if at_s is None else datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M:%S")
