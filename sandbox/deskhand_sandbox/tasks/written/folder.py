"""A folder of tasks: YAML files of ours and JSON files of OSWorld's, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks.osworld import OsworldTask, read_osworld
from deskhand_sandbox.tasks.written.actions import AnswerOf, WaitUntil
from deskhand_sandbox.tasks.written.reading import read_tasks
from deskhand_sandbox.tasks.written.template import Template
from deskhand_sandbox.types import Action, Task

SUFFIXES = (".yaml", ".yml", ".json")


class TaskFolder:
    """A family of tasks that stand in files; nothing is read before it is asked for."""

    def __init__(self, place: Path | Traversable) -> None:
        """
        Args:
            place: a folder, looked through with the folders in it, or one file; names in it that begin with
                a dot are passed over.
        """
        self.place = place
        self._made: dict[str, Template | OsworldTask] | None = None
        self._refused: dict[str, InvalidTask] = {}

    def task_ids(self) -> tuple[str, ...]:
        """Every task in the files, sorted.

        Raises:
            InvalidTask: a file cannot be read or is not as tasks are written; says which, where and why.
        """
        return tuple(sorted(self._tasks))

    @property
    def refused(self) -> Mapping[str, InvalidTask]:
        """OSWorld's files that ask for what is not supported here, and why. One file alone is an error."""
        self.task_ids()
        return self._refused

    def make(self, task_id: str, seed: int) -> Task:
        """One start state of a task of `task_ids()`."""
        return self._task(task_id).make(seed)

    def oracle(self, task_id: str, seed: int) -> tuple[Action | AnswerOf | WaitUntil, ...] | None:
        """What works a start state; None where the task has no oracle."""
        return self._task(task_id).oracle(seed)

    def proven(self, task_id: str) -> bool:
        """Whether the task has an oracle."""
        return self._task(task_id).actions is not None

    def fixed(self, task_id: str) -> bool:
        """Whether every seed means the same start state."""
        return self._task(task_id).fixed

    def _task(self, task_id: str) -> Template | OsworldTask:
        try:
            return self._tasks[task_id]
        except KeyError:
            raise UnknownName("task", task_id, self._tasks) from None

    @property
    def _tasks(self) -> dict[str, Template | OsworldTask]:
        if self._made is None:
            self._refused.clear()
            self._made = self._read_all()
        return self._made

    def _read_all(self) -> dict[str, Template | OsworldTask]:
        made: dict[str, Template | OsworldTask] = {}
        for file in _files(self.place):
            try:
                tasks = _read(file)
            except InvalidTask as error:
                if not file.name.endswith(".json") or self.place.is_file():
                    raise
                self._refused[str(file)] = error
                continue
            for task in tasks:
                if task.id in made:
                    raise InvalidTask(f"{file}: there are two tasks {task.id}")
                made[task.id] = task
        return made


def _files(place: Path | Traversable) -> list[Path | Traversable]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise InvalidTask(f"{place} is neither a file nor a folder")
    found: list[Path | Traversable] = []
    for each in sorted(place.iterdir(), key=lambda one: one.name):
        if each.name.startswith("."):
            continue
        if each.is_dir():
            found += _files(each)
        elif each.name.endswith(SUFFIXES):
            found.append(each)
    return found


def _read(file: Path | Traversable) -> tuple[Template, ...] | tuple[OsworldTask, ...]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidTask(f"{file} cannot be read: {error}") from error
    if not file.name.endswith(".json"):
        return read_tasks(text, str(file))
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise InvalidTask(f"{file} is no JSON: {error}") from error
    if not isinstance(value, dict) or not {"id", "instruction", "evaluator"} & set(value):
        return ()  # an index of tasks, such as OSWorld keeps beside its files
    return (read_osworld(value, str(file)),)
