"""What a new task is before it is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import count
from urllib.parse import urlsplit

import yaml
from blake3 import blake3

from deskhand_sandbox.accessibility.outline import Node
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.splits import split_by_hash
from deskhand_sandbox.types import JsonValue, Split, Task
from deskhand_sandbox.verifiers.outline import Condition

FAMILY = "grown"
SPARE_TURNS = 3
"""What a task grants beyond twice its oracle's."""
SECONDS_PER_TURN = 20.0


class Source(StrEnum):
    """Where a task comes from."""

    TEMPLATE = "template"
    EXPLORED = "explored"
    """What an explorer's actions changed."""
    MODEL = "model"
    """A model proposed it."""


class Refusal(StrEnum):
    """Why a proposal became no task."""

    UNREADABLE = "unreadable"
    """It is not as tasks are written."""
    DUPLICATE = "duplicate"
    """There is one from the same start state that asks for the same."""
    CONTAMINATED = "contaminated"
    """Its instruction is one of a held-out task, or of a seed that only measures, that the store has seen."""
    BROKEN = "broken"
    """It does not prove itself: it passes at the start, or its own actions do not reach its goal."""
    FAILED = "failed"
    """The computer failed: nothing is known, of a proposal or of a whole page."""
    UNANSWERED = "unanswered"
    """The endpoint that was asked for some did not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A start state that tasks may grow from, and what is on its screen."""

    task: Task
    nodes: tuple[Node, ...]

    @property
    def name(self) -> str:
        """Its task and seed, "generated/fill-2#17"."""
        return f"{self.task.id}#{self.task.seed}"


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A task that has to prove itself."""

    source: Source
    by: str
    """The template's name, the explorer's trajectory, or the model."""
    base: Task
    """Begins where this one does."""
    instruction: str
    conditions: Sequence[Condition]
    """How the screen is when it is done."""
    actions: Sequence[JsonValue]
    """What reaches that from the start, as tasks write their oracles."""

    @cached_property
    def key(self) -> str:
        """The same for all that ask for the same from the same start, in whatever words."""
        goal = sorted(json.dumps(each.settings(), sort_keys=True) for each in self.conditions)
        return blake3(json.dumps([self.base.id, self.base.seed, goal]).encode()).hexdigest()[:16]

    @cached_property
    def id(self) -> str:
        """Of the task; such that its one start state is for training, as the one it begins with is."""
        for number in count():
            found = f"{FAMILY}/{self.source}-{self.key}-{number}"
            if split_by_hash(found) is Split.TRAIN:
                return found
        raise AssertionError

    def written(self) -> str:
        """As a file of tasks.

        Raises:
            InvalidTask: the start state it begins with cannot be written down.
        """
        turns = 2 * len(self.actions) + SPARE_TURNS
        task = {
            "name": self.id.removeprefix(f"{FAMILY}/"),
            "instruction": self.instruction,
            "description": f"Begins as {self.base.id} does with seed {self.base.seed}.",
            "verifier": {
                "name": "outline",
                "conditions": [each.settings() for each in self.conditions],
                **_in_front(self.base),
            },
            "oracle": [*self.actions],
            "labels": {
                "grown": self.source.value,
                "grown_by": self.by,
                "grown_from": f"{self.base.id}#{self.base.seed}",
                "grown_key": self.key,
            },
        }
        document = {
            "family": FAMILY,
            "environment": {"kind": self.base.environment.kind, "settings": _pinned(self.base)},
            "limits": {"turns": turns, "seconds": turns * SECONDS_PER_TURN},
            "tasks": [task],
        }
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _pinned(task: Task) -> Mapping[str, JsonValue]:
    """The environment's settings with the seed in them, whatever seed the grown task is made with."""
    settings = dict(task.environment.settings)
    if isinstance(start := settings.get("start"), str):
        settings["start"] = f"() => ({start})({task.seed})"
    elif task.environment.kind not in ("browser", "desktop"):
        raise InvalidTask(f"a start state of a {task.environment.kind} sandbox cannot be written down")
    return settings


def _in_front(task: Task) -> Mapping[str, JsonValue]:
    """Whose page is to be in front in the end, where the task begins with a page of a host."""
    settings = task.environment.settings
    site = settings.get("site")
    host = f"{site}.localhost" if site else urlsplit(str(settings.get("url", ""))).hostname
    return {"host": host} if host else {}
