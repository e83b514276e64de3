"""A run's folder: reading its spec, saying how far it is, leaving its result. See `runs`."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from deskhand_flywheel.errors import MalformedRecord
from deskhand_flywheel.records import decode
from deskhand_sandbox import logs
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.manager.lending import read_lending
from deskhand_trainer.config_parsing import parse_config
from deskhand_trainer.errors import ConfigError, DiskFull, RunRefused
from deskhand_trainer.runs import RunKind, RunResult, RunSpec, RunState

log = logging.getLogger(__name__)

EPISODES, FAILURES = "episodes.json", "failures.json"
"""Lists, in a run's folder, of the store's episodes that it began to learn from."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
LOOK_S = 0.5
"""The state file is replaced at most this often while only the count of done work changes."""


class RunFolder:
    """RUN_DIR."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoint"
        self._state: RunState | None = None
        self._written_s = 0.0
        self._life: tuple[float, float] | None = None

    @contextmanager
    def held(self) -> Generator[None]:
        """Nobody else works at the run for the length of the block; whoever comes second waits."""

        def wait() -> None:
            logs.say(log, f"another process works at {self.path}: waiting for it")

        with hold(self.path, busy=wait):
            yield

    def stamp(self) -> str:
        """A mark of this folder's own: one made anew under the same name takes nothing of it up."""
        place = self.path / "stamp.json"
        if not place.exists():
            write_json(place, secrets.token_hex(8))
        return str(json.loads(place.read_text()))

    def seconds_before(self) -> float:
        """Wall clock of earlier lives, as far as they wrote it down."""
        try:
            return float(json.loads((self.path / "seconds.json").read_text()))
        except FileNotFoundError:
            return 0.0

    def next_life(self) -> int:
        """How many lives asked before this one."""
        place = self.path / "lives.json"
        before = int(json.loads(place.read_text())) if place.exists() else 0
        write_json(place, before + 1)
        return before

    def begin_life(self, began_s: float, before_s: float) -> None:
        """From now on `progress` writes down the run's wall clock, earlier lives included."""
        self._life = (began_s, before_s)

    def spec(self) -> RunSpec:
        """What the run is to do.

        Raises:
            RunRefused: spec.json is missing or not one; says what is wrong with it.
        """
        try:
            given = json.loads((self.path / "spec.json").read_text())
        except FileNotFoundError as error:
            raise RunRefused(f"{self.path} holds no spec.json: name the folder of a run") from error
        except (ValueError, OSError) as error:
            raise RunRefused(f"{self.path / 'spec.json'} cannot be read: {error}") from error
        return read_spec(given)

    def progress(self, phase: str, done: int, total: int) -> None:
        """Say how far the run is."""
        now = time.time()
        last = self._state
        same = last is not None and last.phase == phase and last.total == total and done < total
        self._state = RunState(phase=phase, done=done, total=total, pid=os.getpid(), updated_at_s=now)
        if not same or now - self._written_s > LOOK_S:
            self._written_s = now
            write_json(self.path / "state.json", dataclasses.asdict(self._state))
            if self._life is not None:
                began_s, before_s = self._life
                write_json(self.path / "seconds.json", before_s + now - began_s)

    def finish(self, result: RunResult) -> None:
        """Leave the result; with it the run is finished."""
        write_json(self.path / "result.json", dataclasses.asdict(result))

    def fail(self, error: BaseException) -> None:
        """Leave the reason the run refused or crashed for."""
        write_json(self.path / "error.json", {"type": type(error).__name__, "message": str(error)})

    @property
    def finished(self) -> bool:
        """A result is there."""
        return (self.path / "result.json").exists()


def read_state(folder: Path) -> RunState | None:
    """How far the run in a folder is; None before it said so, or where another version said it."""
    try:
        return decode(RunState, json.loads((folder / "state.json").read_text()))
    except (FileNotFoundError, json.JSONDecodeError, MalformedRecord):
        return None


def listed_episodes(folder: Path) -> set[str]:
    """Ids of the store's episodes that the run in a folder goes on learning from, whoever played them; none
    of a list that is damaged, with which it cannot go on.
    """
    found: set[str] = set()
    for name in (EPISODES, FAILURES):
        try:
            listed = json.loads((folder / name).read_text())
        except (FileNotFoundError, ValueError):
            continue
        lists: list[list[str]] = [*listed.values()] if isinstance(listed, dict) else [listed]
        found.update(each for ids in lists for each in ids)
    return found


def read_spec(given: Any) -> RunSpec:
    """A `RunSpec` from its JSON form.

    Raises:
        RunRefused: a field is missing, unknown or of the wrong form.
    """
    if not isinstance(given, dict):
        raise RunRefused("spec.json must hold an object")
    fields = dict(cast("dict[str, Any]", given))
    kinds = [k.value for k in RunKind]
    kind, config = fields.pop("kind", None), fields.pop("config", {})
    sandboxes = fields.pop("sandboxes", {})
    if kind not in kinds:
        raise RunRefused(f"spec.json: kind must be one of {', '.join(kinds)}, got {kind!r}")
    if not isinstance(config, dict):
        raise RunRefused("spec.json: config must be an object")
    try:
        read_lending(sandboxes)
    except InvalidPool as error:
        raise RunRefused(f"spec.json: sandboxes: {error}") from error
    try:
        head = parse_config(_SpecFields, fields, path="spec.")
    except ConfigError as error:
        raise RunRefused(f"spec.json: {error}") from error
    return RunSpec(
        kind=RunKind(kind),
        config=config,
        sandboxes=sandboxes,
        **{f.name: getattr(head, f.name) for f in dataclasses.fields(head)},
    )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _SpecFields:
    """The flat fields of `RunSpec`."""

    id: str
    store_url: str
    blobs_url: str
    sandbox_url: str | None = None
    policy_in: str | None = None
    prm_in: str | None = None
    dataset: str | None = None
    folders: tuple[str, ...] | None = None
    near_frames: float | None = None
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


@contextmanager
def hold(folder: Path, *, busy: Callable[[], None]) -> Generator[None]:
    """Hold a folder for the length of the block by a kernel lock, which ends with its holder in any case.

    Args:
        busy: called where another process holds it; it raises, or the other is waited for.
    """
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_json(path: Path, content: object) -> None:
    """Replace a JSON file in one move: a reader sees the old one or the new one.

    Raises:
        DiskFull: no room; the old one stays.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(content, indent=1))
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno in NO_SPACE:
            raise DiskFull(
                f"no space left to write {path}: free some space and start the run again"
            ) from error
        raise
