"""From the text of a file to its tasks; what is wrong is said with file, line and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.errors import InvalidTask, SandboxError
from deskhand_sandbox.registry import BACKENDS, VERIFIERS, backend_kinds, create_verifier
from deskhand_sandbox.tasks.setup import SETUP, check_steps
from deskhand_sandbox.tasks.written.located import Located, Reader, short
from deskhand_sandbox.tasks.written.parameters import holes, read_parameters
from deskhand_sandbox.tasks.written.template import Template
from deskhand_sandbox.types import Limits

_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
FILE_FIELDS = "family, environment, limits, labels, tasks"
TASK_FIELDS = (
    "name, description, instruction, details, parameters, environment, setup, verifier, oracle, limits, "
    "labels"
)
TRIED_SEEDS = 20
"""Seeds a template is made with when it is read."""
_SHORT_STEPS = {"execute": "command", "launch": "command", "open": "path", "sleep": "seconds"}


def read_tasks(text: str, name: str) -> tuple[Template, ...]:
    """The tasks of a file.

    Args:
        name: of the file, for errors.

    Raises:
        InvalidTask: something in it is not as tasks are written; says file, line and what to do.
    """
    document = Located(text, name)
    reader = Reader(document, document.value, ())
    family = _id(reader, "family")
    environment, labels = reader.mapping("environment"), reader.mapping("labels")
    limits = _limits(reader, Limits())
    items = reader.items("tasks")
    if not items:
        raise document.wrong((), "tasks is missing: a list of at least one task")
    reader.done(FILE_FIELDS)
    made: dict[str, Template] = {}
    for number, item in enumerate(items):
        one = Reader(document, item, ("tasks", number))
        template = _task(one, family, environment, labels, limits)
        if template.id in made:
            raise one.wrong("name", f"there are two tasks {template.id}")
        made[template.id] = template
    return tuple(made.values())


def _task(
    reader: Reader, family: str, environment: dict[str, object], labels: dict[str, object], limits: Limits
) -> Template:
    task_id = f"{family}/{_id(reader, 'name')}"
    own = reader.mapping("environment")
    shared, mine = (environment.get("settings"), own.get("settings"))
    settings = {**_mapping(reader, shared), **_mapping(reader, mine)}
    kind = own.get("kind", environment.get("kind"))
    if kind not in BACKENDS and kind not in (kinds := backend_kinds()):
        what = f"kind must be one of {', '.join(kinds)}, not {kind!r}"
        raise (
            reader.wrong("environment", what)
            if "kind" in own
            else reader.document.wrong(("environment",), what)
        )
    if unknown := set(environment | own) - {"kind", "settings"}:
        raise reader.wrong("environment", f"unknown {min(unknown)!r}; there is: kind, settings")
    if (steps := reader.items(SETUP)) is not None:
        settings[SETUP] = [_step(reader, number, each) for number, each in enumerate(steps)]
    verifier, verifier_settings = _verifier(reader)
    template = Template(
        id=task_id,
        instruction=reader.text("instruction"),
        description=reader.text("description"),
        details=reader.mapping("details"),
        kind=str(kind),
        settings=settings,
        verifier=verifier,
        verifier_settings=verifier_settings,
        limits=_limits(reader, limits),
        parameters=read_parameters(reader),
        labels={key: str(value) for key, value in {**labels, **reader.mapping("labels")}.items()},
        actions=reader.items("oracle"),
    )
    reader.done(TASK_FIELDS)
    _try(reader, template)
    return template


def _verifier(reader: Reader) -> tuple[str, dict[str, object]]:
    settings = reader.mapping("verifier")
    name = settings.pop("name", None)
    if name not in VERIFIERS:
        raise reader.wrong("verifier", f"name must be one of {', '.join(sorted(VERIFIERS))}, not {name!r}")
    return str(name), settings


def _step(reader: Reader, number: int, value: object) -> object:
    """A step as OSWorld writes it, or for short: `execute: mkdir a`, `write: {path: a, content: b}`."""
    fields = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    if "type" in fields:
        return value
    if len(fields) != 1:
        path = (*reader.path, SETUP, number)
        raise reader.document.wrong(path, f"must be a step like `execute: mkdir a`, not {short(value)}")
    ((name, given),) = fields.items()
    if isinstance(given, Mapping):
        return {"type": name, "parameters": given}
    parameters: dict[str, object] = {_SHORT_STEPS.get(name, "value"): given}
    if name in ("execute", "launch") and isinstance(given, str):
        parameters["shell"] = True
    return {"type": name, "parameters": parameters}


def _limits(reader: Reader, default: Limits) -> Limits:
    fields = Reader(reader.document, reader.mapping("limits"), (*reader.path, "limits"))
    turns, seconds = fields.number("turns", default.turns), fields.number("seconds", default.seconds)
    questions = fields.number("questions", default.questions)
    fields.done("turns, seconds, questions")
    for name, value in (("turns", turns), ("questions", questions)):
        if value != int(value):
            raise fields.wrong(name, f"must be a whole number, not {value:g}")
    return Limits(turns=int(turns), seconds=float(seconds), questions=int(questions))


def _id(reader: Reader, field: str) -> str:
    value = reader.text(field)
    if not _ID.fullmatch(value):
        raise reader.wrong(field, f"{value!r} must be small letters, digits and hyphens")
    return value


def _mapping(reader: Reader, value: object) -> dict[str, object]:
    if value is not None and not isinstance(value, Mapping):
        raise reader.wrong("environment", f"settings must be a mapping, not {short(value)}")
    return dict(cast("Mapping[str, object]", value or {}))


def _try(reader: Reader, template: Template) -> None:
    """Make the task for some seeds: what is wrong with it comes out when it is read, not in an episode."""
    for seed in range(TRIED_SEEDS if template.parameters else 1):
        field = "instruction"
        try:
            task = template.make(seed)
            if left := holes(task.instruction):
                raise InvalidTask(f"{left[0]} is no parameter of the task")
            field = "details"
            if left := holes(" ".join(task.details.values())):
                raise InvalidTask(f"{left[0]} is no parameter of the task")
            field = SETUP
            check_steps(task.environment.settings.get(SETUP, []), SETUP)
            field = "verifier"
            create_verifier(task.verifier)
            field = "oracle"
            template.oracle(seed)
        except SandboxError as error:
            raise reader.wrong(field, str(error)) from error
