"""Settings of backends and of their tasks.

They come from JSON: whatever annotations say, the values may be anything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.types import Task

MAX_SIDE_PX = 8192
IMAGE_FORMATS = ("png", "jpeg", "webp")

T = TypeVar("T")


def backend_settings(kind: str, record: type[T], values: Mapping[str, object]) -> T:
    """The settings of a backend.

    Raises:
        InvalidTask: an unknown setting; says the nearest known.
    """
    _check_names(f"setting of the {kind} backend", record, values)
    return record(**values)


def task_settings(task: Task, kind: str, record: type[T]) -> T:
    """The settings of a task for sandboxes of a kind; the record checks its values itself.

    Raises:
        InvalidTask: another kind of task, an unknown setting (with the nearest known), a wrong value.
    """
    own = task.environment
    if own.kind != kind:
        raise InvalidTask(f"task {task.id} is for a {own.kind} sandbox, not for a {kind}")
    try:
        _check_names(f"{kind} setting", record, own.settings)
        return record(**{name: _tuples(value) for name, value in own.settings.items()})
    except InvalidTask as error:
        raise InvalidTask(f"task {task.id}: {error}") from None


def check_nested(settings: object, name: str, record: type[Any]) -> None:
    """Make the record of a setting that is given as a mapping; refuse what is neither.

    Raises:
        InvalidTask: an unknown field, with the nearest known, or a wrong value.
    """
    value = getattr(settings, name)
    if isinstance(value, Mapping):
        _check_names(f"setting of {name}", record, cast("Mapping[str, object]", value))
        object.__setattr__(settings, name, record(**value))
    elif not isinstance(value, record):
        raise InvalidTask(f"{name} must be a mapping, not {value!r}")


def check_size(name: str, size: object, *, least: int) -> None:
    """Refuse what is not a width and a height in pixels."""
    sides = cast("tuple[object, ...]", size) if isinstance(size, tuple) else ()
    if len(sides) != 2 or not all(type(side) is int and least <= side <= MAX_SIDE_PX for side in sides):
        raise InvalidTask(f"{name} must be two whole numbers from {least} to {MAX_SIDE_PX}, not {size!r}")


def check_image(format: object, quality: object) -> None:
    """Refuse pictures nobody can make."""
    if format not in IMAGE_FORMATS:
        raise InvalidTask(f"image_format must be png, jpeg or webp, not {format!r}")
    if type(quality) is not int or not 1 <= quality <= 100:
        raise InvalidTask(f"image_quality must be a whole number from 1 to 100, not {quality!r}")


def check_positive(settings: object, *names: str) -> None:
    """Refuse times and deadlines that are no positive number."""
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 3_600_000:
            raise InvalidTask(f"{name} must be a positive number, not {value!r}")


def check_text(settings: object, *names: str) -> None:
    """Refuse what is neither text nor nothing."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not isinstance(value, str):
            raise InvalidTask(f"{name} must be text or nothing, not {value!r}")


def _check_names(what: str, record: type[Any], values: Mapping[str, object]) -> None:
    known = {each.name for each in dataclasses.fields(record) if each.init}
    for name in values:
        if name not in known:
            raise InvalidTask(str(UnknownName(what, name, known)))


def _tuples(value: object) -> object:
    """Lists of JSON, as the tuples of frozen records."""
    return tuple(map(_tuples, cast("list[object]", value))) if isinstance(value, list | tuple) else value
