"""What is kept of a study's finished parts beside its results, so that it goes on where its folder is not.

{"reward/0": {"told": {"start": {…}, "outcome": {…}}, "found": {…}, "made": {"commit", "date", "machine"}}}
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.errors import ConfigError, ResultsError
from deskhand_trainer.run_folder import write_json

Told: TypeAlias = Mapping[str, Any]
"""Settings that a part was done by: name -> config record."""


def same_settings(found: Mapping[str, Any], asked: Any) -> bool:
    """Whether something was done by the settings of a record; one that came since had its default then."""
    try:
        return parse_config(type(asked), found) == asked
    except ConfigError:
        return False


class DoneElsewhere:
    """The file of one study. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._path, self._guard = path, threading.Lock()

    def found(self, name: str, told: Told) -> dict[str, Any] | None:
        """What a part came to and where it was made, where it is kept and was done by these settings.

        Raises:
            ResultsError: the file is not in this form.
        """
        with self._guard:
            part = self._read().get(name)
        if part is None or part["told"].keys() != told.keys():
            return None
        if not all(same_settings(part["told"][each], asked) for each, asked in told.items()):
            return None
        return {**part["found"], "made": part["made"]}

    def keep(self, name: str, told: Told, found: Mapping[str, Any], made: Mapping[str, str]) -> None:
        """Write a part, in place of one of its name.

        Raises:
            ResultsError: the file is not in this form.
            DiskFull: no room; the file stays as it was.
        """
        with self._guard:
            parts = self._read()
            settings = {each: asdict(config) for each, config in told.items()}
            parts[name] = {"told": settings, "found": dict(found), "made": dict(made)}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, dict(sorted(parts.items())))

    def _read(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        try:
            parts: dict[str, Any] = json.loads(self._path.read_text())
            fitting = all({"told", "found", "made"} <= part.keys() for part in parts.values())
        except (ValueError, AttributeError):
            fitting, parts = False, {}
        if not fitting:
            raise ResultsError(f"{self._path} is not a study's record: mend or remove it")
        return parts
