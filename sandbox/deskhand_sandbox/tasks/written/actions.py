"""Actions in YAML: the action's name and its fields, `Click: {x: 10, y: 20}`; `Press: Enter` for short."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.types import Action, ControlAction, DeviceAction

SHORT = {
    "Answer": "text",
    "Fail": "reason",
    "Finish": "text",
    "Navigate": "url",
    "OpenApp": "name",
    "Press": "keys",
    "ReadFile": "path",
    "Run": "command",
    "TypeText": "text",
    "Wait": "seconds",
}
"""The field that stands alone."""
ACTIONS = {each.__name__: each for each in (*get_args(DeviceAction), *get_args(ControlAction))}


@dataclass(frozen=True, slots=True)
class AnswerOf:
    """The answer that an expression gives, evaluated behind the screen: oracles may look there."""

    expression: str


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """A wait until an expression holds behind the screen: until a program has done what it was told."""

    expression: str


def read_step(value: object) -> Action | AnswerOf | WaitUntil:
    """An oracle's step: an action, `AnswerOf: expression` or `WaitUntil: expression`.

    Raises:
        InvalidTask: it is none of these.
    """
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        for name, kind in (("AnswerOf", AnswerOf), ("WaitUntil", WaitUntil)):
            if set(fields) == {name}:
                return kind(str(fields[name]))
    return read_action(value)


def read_action(value: object) -> Action:
    """The action that is meant.

    Raises:
        InvalidTask: it is none; says what is wrong with it.
    """
    # the fields are checked as those are that come over the wire
    from deskhand_sandbox.host.wire import TAG, WireError, decode

    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, Mapping) or len(cast("Mapping[object, object]", value)) != 1:
        raise InvalidTask(
            f"an action is its name and its fields, like `Click: {{x: 10, y: 20}}`, not {value!r}"
        )
    ((name, given),) = cast("Mapping[str, object]", value).items()
    if name not in ACTIONS:
        raise InvalidTask(str(UnknownName("action", str(name), ACTIONS)))
    if not isinstance(given, Mapping):
        if name not in SHORT:
            raise InvalidTask(f"{name} needs its fields by name, not {given!r}")
        given = {SHORT[name]: given}
    fields = dict(cast("Mapping[str, object]", given))
    if name == "Press" and isinstance(fields.get("keys"), str):
        fields["keys"] = str(fields["keys"]).split("+") if fields["keys"] != "+" else ["+"]
    for each in dataclasses.fields(ACTIONS[name]):
        if each.type in ("int", "float", "int | None") and isinstance(fields.get(each.name), str):
            fields[each.name] = _number(str(fields[each.name]))  # a parameter, filled in
    try:
        return cast("Action", decode({TAG: name, **fields}, ACTIONS[name]))
    except WireError as error:
        raise InvalidTask(str(error)) from error


def _number(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
