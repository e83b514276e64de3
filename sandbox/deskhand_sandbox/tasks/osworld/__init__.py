"""OSWorld's task files (Xie et al. 2024, arXiv 2404.07972), read into our tasks.

A file names an instruction, `config` steps that bring up the start state, and an `evaluator`. What it asks
for that is not supported here is refused when the file is read, never when an agent has worked on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.osworld.addresses import leads_outside
from deskhand_sandbox.tasks.setup import SETUP, check_steps
from deskhand_sandbox.tasks.written.actions import AnswerOf, WaitUntil, read_step
from deskhand_sandbox.types import Action, EnvironmentSpec, JsonValue, Limits, Task, VerifierSpec

__all__ = ["OsworldTask", "load_osworld", "read_osworld"]

FAMILY = "osworld"
KINDS = ("desktop", "vm", "browser")
KIND_VARIABLE = "DESKHAND_OSWORLD_KIND"
"""Kind of sandbox for files that name none; a desktop where it is not set."""
NETWORK: Mapping[str, Mapping[bool, JsonValue]] = {
    "desktop": {True: "allow", False: "deny"},
    "browser": {True: "allow", False: "deny"},
    "vm": {True: True, False: False},
}
"""Kind of sandbox -> what its setting `network` says for a network and for none."""
SCREEN_PX = (1920, 1080)
"""The screen OSWorld's commands mean."""
SIZES = {"desktop": "size_px", "browser": "viewport_px"}
"""Kind of sandbox -> the setting of its size."""
LIMITS = Limits(turns=50, seconds=1800.0)
_HOME: JsonValue = {
    "type": "execute",
    "parameters": {"command": '[ -e /home/user ] || ln -s "$HOME" /home/user', "shell": True},
}
"""OSWorld's user is `user`: its paths lead to the home of whoever it is here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OsworldTask:
    """A task file that can be worked here."""

    id: str
    """"osworld/" and the file's own id."""
    instruction: str
    kind: str
    config: Sequence[JsonValue]
    evaluator: Mapping[str, JsonValue]
    actions: Sequence[object] | None
    """The oracle: of an infeasible task to say so; of others what the file's `oracle` says, if anything."""
    network: bool | None = None
    """Whether the sandbox has a network; None: as its kind has it by itself."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def fixed(self) -> bool:
        """There is one start state."""
        return True

    def make(self, seed: int) -> Task:
        """The task; it has one start state, which every seed means."""
        settings: dict[str, JsonValue] = {}
        if self.kind in SIZES:  # a virtual machine's screen has the size its backend was told
            settings[SIZES[self.kind]] = list(SCREEN_PX)
        if self.network is not None:
            settings["network"] = NETWORK[self.kind][self.network]
        home = [] if self.kind == "browser" else [_HOME]
        settings[SETUP] = [*home, *self.config]
        return Task(
            id=self.id,
            environment=EnvironmentSpec(kind=self.kind, settings=settings),
            verifier=VerifierSpec(name=FAMILY, settings={"evaluator": dict(self.evaluator)}),
            instruction=self.instruction,
            seed=seed,
            limits=LIMITS,
            labels=self.labels,
        )

    def oracle(self, seed: int) -> tuple[Action | AnswerOf | WaitUntil, ...] | None:
        """What works the task; None where there is no oracle."""
        return None if self.actions is None else tuple(map(read_step, self.actions))


def load_osworld(path: Path, *, kind: str | None = None) -> OsworldTask:
    """The task of a file.

    Raises:
        InvalidTask: it cannot be read, is not as OSWorld's files are, or asks for what is not supported here;
            says what, and what is supported.
    """
    import json

    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidTask(f"{path} is no JSON: {error}") from error
    return read_osworld(value, str(path), kind=kind)


def read_osworld(value: object, name: str, *, kind: str | None = None) -> OsworldTask:
    """The task in a file's content.

    Args:
        name: of the file, for errors.
        kind: of sandbox it is to be worked in; None: as the file's `kind` says, or $DESKHAND_OSWORLD_KIND.

    Raises:
        InvalidTask: as `load_osworld`.
    """
    # verifiers use what sets tasks up: importing them here keeps the circle open
    from deskhand_sandbox.verifiers.osworld.evaluator import read_evaluator

    if not isinstance(value, Mapping):
        raise InvalidTask(f"{name}: an OSWorld task is a JSON object")
    fields = cast("Mapping[str, JsonValue]", value)
    kind = kind or _kind(fields, name)
    if kind not in KINDS:
        raise InvalidTask(f"{name}: OSWorld's tasks run in {', '.join(KINDS)}, not in {kind!r}")
    config, evaluator = fields.get("config", []), fields.get("evaluator")
    if not isinstance(evaluator, Mapping):
        raise InvalidTask(f"{name}: evaluator is missing: an object with func, result and expected")
    try:
        check_steps(config, "config", kind=kind)
        read = read_evaluator(evaluator, kind=kind)
    except InvalidTask as error:
        raise InvalidTask(f"{name}: {error}") from error
    instruction = _text(fields, "instruction", name)
    actions = _oracle(fields, name, infeasible=read.infeasible)
    return OsworldTask(
        id=f"{FAMILY}/{_text(fields, 'id', name)}",
        instruction=instruction,
        kind=kind,
        config=cast("Sequence[JsonValue]", config),
        evaluator=evaluator,
        actions=actions,
        labels=_labels(fields, instruction),
        network=_network(fields, name),
    )


def _text(fields: Mapping[str, JsonValue], field_name: str, name: str) -> str:
    value = fields.get(field_name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidTask(f"{name}: {field_name} must be text, not {value!r}")
    return value


def _kind(fields: Mapping[str, JsonValue], name: str) -> str:
    return _text(fields, "kind", name) if "kind" in fields else os.environ.get(KIND_VARIABLE) or "desktop"


def _network(fields: Mapping[str, JsonValue], name: str) -> bool | None:
    """As the file says; else true where OSWorld gives the task a proxy, or an address leads outside."""
    given = fields.get("network")
    if given is not None and not isinstance(given, bool):
        raise InvalidTask(f"{name}: network must be true or false, not {given!r}")
    if given is None and (
        fields.get("proxy") is True or leads_outside(fields.get("config"), fields["evaluator"])
    ):
        return True
    return given


def _oracle(fields: Mapping[str, JsonValue], name: str, *, infeasible: bool) -> Sequence[object] | None:
    given = fields.get("oracle")
    if given is None:
        return [{"Fail": {}}] if infeasible else None
    if not isinstance(given, list):
        raise InvalidTask(f"{name}: oracle must be a list of actions")
    for each in given:
        try:
            read_step(each)
        except InvalidTask as error:
            raise InvalidTask(f"{name}: oracle: {error}") from error
    return given


def _labels(fields: Mapping[str, JsonValue], instruction: str) -> dict[str, str]:
    apps = fields.get("related_apps")
    labels = {"family": FAMILY, "description": instruction.split("\n")[0]}
    if isinstance(apps, list):
        labels["apps"] = ", ".join(map(str, apps))
    if isinstance(snapshot := fields.get("snapshot"), str):
        labels["snapshot"] = snapshot
    return labels
