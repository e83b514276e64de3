"""Log lines of a process: for a person, or one JSON object each, with the ids of what they are about.

    configure("json", process="worker")
    with about(task="01a…"):
        log.info("attempt 1 began")     # {…, "message": "attempt 1 began", "task": "01a…"}
        note(sandbox="browser-3")       # on every line of this block from here on

The ids are task, sandbox, lease, trajectory, run and round: a line with two of them joins lines with one.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import IO, Literal

Form = Literal["text", "json"]
VARIABLE = "DESKHAND_LOGS"
"""Environment variable that says the form to a process that has no settings of its own."""
PACKAGES = ("sandbox", "agent", "flywheel", "trainer", "platform")
_ids: ContextVar[dict[str, str] | None] = ContextVar("ids", default=None)


def asked_form() -> Form:
    """The form that the environment asks for."""
    return "json" if os.environ.get(VARIABLE) == "json" else "text"


def configure(form: Form, *, process: str, level: int = logging.INFO, stream: IO[str] | None = None) -> None:
    """Say how this process writes its log; again to say it anew.

    Args:
        process: its name, on each JSON line: "platform", "worker", "sandbox host".
        level: from which on our own lines are written; of other packages, warnings.
        stream: None: stderr.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(process) if form == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in PACKAGES:
        logging.getLogger(f"deskhand_{name}").setLevel(level)


def say(log: logging.Logger, text: str, *, level: int = logging.INFO) -> None:
    """A line that is always written, as it stands (errors to stderr); where JSON is asked for, as JSON."""
    if asked_form() == "json" and log.isEnabledFor(level):
        log.log(level, text)
    else:
        print(text, file=sys.stderr if level >= logging.ERROR else sys.stdout, flush=True)


def utc(at_s: float) -> str:
    """A time as lines for a person begin with it: "2026-11-25T01:14:25Z"."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


@contextmanager
def about(**ids: str | None) -> Generator[None]:
    """Put ids on every line of the block, and of tasks begun in it."""
    token = _ids.set({**(_ids.get() or {}), **_known(ids)})
    try:
        yield
    finally:
        _ids.reset(token)


def note(**ids: str | None) -> None:
    """Add ids to the block this is in; without one, nothing happens."""
    current = _ids.get()
    if current is not None:
        current.update(_known(ids))


def _known(ids: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in ids.items() if value is not None}


class JsonLines(logging.Formatter):
    """One JSON object for each line."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
            "message": record.getMessage(),
            **(_ids.get() or {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """For a person; times in UTC, ids in brackets at the end."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return utc(record.created)

    def format(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={value}" for name, value in (_ids.get() or {}).items())
        line = super().format(record)
        return f"{line} [{ids}]" if ids else line
