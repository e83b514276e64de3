"""Suites of tasks that people put together: a file each in the home, as evaluations are a folder each."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident

from deskhand_platform.errors import NotFound


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Tasks that are measured together."""

    name: str
    tasks: tuple[str, ...]


class SuiteShelf:
    """The suites of a home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> tuple[Suite, ...]:
        """By name; a file that cannot be read is left out."""
        found = (_read(path) for path in sorted(self._folder.glob("*.json")))
        return tuple(suite for suite in found if suite is not None)

    def keep(self, name: str, tasks: Sequence[str]) -> Suite:
        """Put one in place, whole or not at all; one of the same name is replaced.

        Args:
            name: safe as the name of a file; the caller has checked it.
        """
        suite = Suite(name=name, tasks=tuple(dict.fromkeys(tasks)))
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._folder / f".{name}.{os.getpid()}-{get_ident()}"
        with draft.open("w") as file:
            json.dump({"tasks": suite.tasks}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._folder / f"{name}.json")
        return suite

    def forget(self, name: str) -> None:
        """Drop one; what was measured on it stays.

        Raises:
            NotFound: there is none of that name.
        """
        known = [suite.name for suite in self.all()]
        if name not in known:
            raise NotFound("suite", name, known)
        (self._folder / f"{name}.json").unlink(missing_ok=True)


def _read(path: Path) -> Suite | None:
    try:
        return Suite(name=path.stem, tasks=tuple(str(task) for task in json.loads(path.read_text())["tasks"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
