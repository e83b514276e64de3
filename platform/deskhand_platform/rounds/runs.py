"""A training run's folder, seen from outside: write its spec, read its result and error."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deskhand_flywheel.errors import MalformedRecord
from deskhand_flywheel.records import decode
from deskhand_trainer.runs import RunResult

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
ASKED = "asked"
"""In a run's folder: as old as the asking; every start writes the spec anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunError:
    """Why a run refused or crashed, in its own words."""

    type: str
    message: str


def write_spec(folder: Path, spec: DataclassInstance) -> None:
    """Put the spec in place, whole or not at all; an equal or older one is replaced."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (folder / ASKED).touch(exist_ok=False)
    draft = folder / f".spec.json.{os.getpid()}"
    with draft.open("w") as file:
        json.dump(asdict(spec), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "spec.json")


def read_asked(folder: Path) -> float:
    """When it was asked for, in Unix time.

    Raises:
        FileNotFoundError: it holds no spec.
    """
    asked = folder / ASKED
    # a folder that `write_spec` has not made holds the spec alone
    return (asked if asked.exists() else folder / "spec.json").stat().st_mtime


def read_result(folder: Path) -> RunResult | None:
    """What came of the run; None unless it finished."""
    return _read(folder / "result.json", RunResult)


def read_error(folder: Path) -> RunError | None:
    """Why it refused or crashed; None when it did not say."""
    values = _values(folder / "error.json")
    if values is None:
        return None
    return RunError(type=str(values.get("type", "")), message=str(values.get("message", "")))


def _read(path: Path, kind: type[T]) -> T | None:
    values = _values(path)
    try:
        return None if values is None else decode(kind, cast(Any, values))
    except MalformedRecord:
        # written by another version: what it says cannot be used
        return None


def _values(path: Path) -> Mapping[str, object] | None:
    try:
        return cast("Mapping[str, object]", json.loads(path.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
