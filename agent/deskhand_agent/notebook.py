"""Notes from episode to episode: what the agent wrote into its memory at a place, told when it comes again.

A note is a file of its own, named by its episode, so that many processes may write at once. Episodes that are
measured have no part in it: `run_episode` reads and writes notes on training seeds alone.
"""

from __future__ import annotations

import ipaddress
import json
import logging
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

import blake3

from deskhand_agent.memory import WindowMemory, memory_of
from deskhand_agent.memory.base import newest_within
from deskhand_agent.memory.room import clipped
from deskhand_agent.types import Trajectory
from deskhand_sandbox.types import JsonValue, Observation, Task

log = logging.getLogger(__name__)

KEPT = 64
"""Notes kept of a place; older ones are deleted."""
GROUPS = 256
"""Groups whose notes are remembered; those told longest ago are forgotten."""
TOLD = "told"
"""Folder of what they were told, for whoever takes a group up that an earlier process began."""
INSTRUCTION_BYTES = 200
"""Of the instruction, in a note."""


@runtime_checkable
class Remembering(Protocol):
    """A policy that has a memory."""

    @property
    def memory(self) -> WindowMemory:
        """What it is shown in place of turns no longer shown."""
        ...


class Notebook:
    """A folder of notes, by place."""

    def __init__(self, folder: Path, memory: WindowMemory, *, chars: int = 2000) -> None:
        """
        Args:
            memory: the policy's, which says what of an episode it wrote.
            chars: of the notes told at once; the newest are.

        Raises:
            ValueError: such a memory writes nothing; or the policy plans, and who carries its plans out is
                told nothing else.
        """
        if memory.strategy == "window":
            raise ValueError("a window writes nothing that could be kept: choose another memory")
        if memory.plan_tokens:
            raise ValueError("plan_tokens: a policy that plans keeps no notebook")
        self._folder, self._memory, self._chars = folder, memory, chars
        self._telling = Lock()

    def of(self, owner: str) -> Notebook:
        """Theirs alone, within this one's folder."""
        return Notebook(self._folder / _named(owner), self._memory, chars=self._chars)

    def read(self, place: str, *, group_id: str | None = None) -> str:
        """The newest notes of a place, oldest first, a line each; what the first episode of a group was told
        is told to all of it, for they are compared.

        Raises:
            OSError: the folder cannot be read, or written.
        """
        if group_id is None:
            return self._newest(place)
        file = self._folder / TOLD / _named(group_id)
        with self._telling:
            told = _read(file)
            if isinstance(told, str):
                return told
            told = self._newest(place)
            _write(file, told)
            with suppress(FileNotFoundError):  # another process forgets the same ones
                for old in sorted(file.parent.iterdir(), key=lambda each: each.stat().st_mtime_ns)[:-GROUPS]:
                    old.unlink()
            return told

    def keep(self, place: str, trajectory: Trajectory) -> None:
        """Add what was written in an episode that has a verdict; nothing where nothing was.

        Raises:
            OSError: the folder cannot be written.
        """
        written = memory_of(self._memory).recall(trajectory.steps).written
        outcome = None if trajectory.end is None else trajectory.end.outcome
        if outcome is None or not written:
            return
        asked = clipped(" ".join(trajectory.start.instruction.split()), INSTRUCTION_BYTES)
        line = f"{asked} ({'done' if outcome.success else 'not done'}): {' '.join(written.split())}"
        file = self._of(place) / f"{trajectory.id}.json"
        _write(file, {"place": place, "note": line})
        for old in self._files(place)[:-KEPT]:
            old.unlink(missing_ok=True)

    def _newest(self, place: str) -> str:
        lines = [clipped(line, self._chars - 1) for path in self._files(place) if (line := _line(path))]
        return "\n".join(newest_within(lines, self._chars))

    def _of(self, place: str) -> Path:
        return self._folder / _named(place)

    def _files(self, place: str) -> list[Path]:
        """Oldest first: ids of episodes sort by time."""
        return sorted(self._of(place).glob("*.json"))


def place_of(task: Task, observation: Observation) -> str:
    """The site an episode begins at, by its host's name; where there is none but this machine's own, what
    the task's id names before its last part: "miniwob", "osworld/chrome"."""
    host = urlsplit(observation.url or "").hostname
    return host if host is not None and not _own(host) else task.id.rpartition("/")[0] or task.id


def _named(what: str) -> str:
    return blake3.blake3(what.encode()).hexdigest()[:16]


def _own(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _write(file: Path, content: JsonValue) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.replace(file)


def _read(file: Path) -> JsonValue:
    """What it holds; None where it is not there, or was damaged, as by a loss of power."""
    try:
        return cast("JsonValue", json.loads(file.read_text()))
    except FileNotFoundError:  # another process made room
        return None
    except (ValueError, RecursionError) as error:
        log.warning("%s cannot be read, and is passed over: %s", file, error)
        return None


def _line(path: Path) -> str:
    note = _read(path)
    line = note.get("note") if isinstance(note, dict) else None
    return line if isinstance(line, str) else ""
