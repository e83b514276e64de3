"""Jobs as folders, in the form of training runs: what was asked for, how far it is, what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskhand_platform.rounds.run_queue import ENDED, state_of
from deskhand_platform.rounds.runs import read_asked, read_result
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.run_folder import read_state


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpec:
    """What a job's process is told."""

    id: str
    kind: str
    order: Mapping[str, JsonValue]
    by: str
    """Who asked for it."""
    store_url: str
    blobs_url: str
    home: str
    """Folder of the platform."""
    sandbox_url: str | None = None
    """Of the sandbox host; its token comes in `DESKHAND_SANDBOX_TOKEN`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRecord:
    """A job as it is now."""

    id: str
    kind: str
    order: Mapping[str, JsonValue]
    state: WorkState
    reason: str | None
    phase: str
    done: int
    total: int
    by: str
    asked_at_s: float
    ended_at_s: float | None


def folders(jobs: Path, kinds: frozenset[str] | None = None) -> list[Path]:
    """Of those asked for, oldest first; None: of every kind."""
    found = [each for each in (jobs.iterdir() if jobs.is_dir() else ()) if (each / "spec.json").exists()]
    if kinds is not None:
        found = [each for each in found if each.name.rpartition("-")[0] in kinds]
    # ids ascend with time; before them stands the kind
    return sorted(found, key=lambda each: each.name.rpartition("-")[2])


def read_job(folder: Path) -> JobRecord | None:
    """The job of a folder; None where it holds none that can be read."""
    try:
        spec: Mapping[str, Any] = json.loads((folder / "spec.json").read_text())
        asked_at_s = read_asked(folder)
    except (OSError, json.JSONDecodeError):
        return None
    state, reason = state_of(folder)
    progress = read_state(folder)
    ended = folder / ("result.json" if state is WorkState.DONE else ENDED)
    return JobRecord(
        id=folder.name,
        kind=str(spec["kind"]),
        order=spec["order"],
        state=state,
        reason=reason,
        phase=progress.phase if progress else "",
        done=progress.done if progress else 0,
        total=progress.total if progress else 0,
        by=str(spec["by"]),
        asked_at_s=asked_at_s,
        ended_at_s=ended.stat().st_mtime if ended.exists() else None,
    )


def read_outcome(folder: Path) -> Mapping[str, JsonValue] | None:
    """What came of it; None unless it is done."""
    result = read_result(folder)
    return None if result is None else result.metrics
