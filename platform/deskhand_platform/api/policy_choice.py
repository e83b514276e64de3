"""Refuses a choice of policy that no worker could make, before one finds out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from deskhand_agent.policies import answers_questions, policy_names, settings_of
from deskhand_agent.policies.scripted import has_oracle
from deskhand_agent.policies.settings import read_settings
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.settings import Deliberation
from deskhand_flywheel.store import Store
from deskhand_platform.api.endpoints import check_listed
from deskhand_platform.api.examples import value_of
from deskhand_platform.api.models import PolicyChoice
from deskhand_platform.errors import InvalidField
from deskhand_platform.naming import named_in
from deskhand_platform.policies import NOTEBOOK, TEST_TIME, LocalSettings, refuse_alike
from deskhand_sandbox.types import Task

FIELD = "policy.settings"
BRINGS = "policies:write"
KEPT = ("policy_id", "executor")
"""Settings of a local policy that name one of the store."""
T = TypeVar("T")


def check_policy(choice: PolicyChoice, endpoints: Sequence[str], scopes: Collection[str]) -> None:
    """Refuse a policy that does not exist, or that does not take the settings.

    Args:
        endpoints: where it may be asked, beside its provider's own: the setting `jobs.endpoints`.
        scopes: of who asks for it: a folder of this machine takes that of bringing policies in.

    Raises:
        InvalidField: names the field; also a key among the settings: they are kept, and shown to everybody.
    """
    if choice.name not in policy_names():
        raise InvalidField(
            "policy.name", f"no policy {choice.name!r}; there are: {', '.join(policy_names())}"
        )
    if "api_key" in choice.settings:
        raise InvalidField(
            f"{FIELD}.api_key", "settings are kept and shown: give keys to the platform's environment"
        )
    given: dict[str, Any] = dict(choice.settings)
    told = Deliberation()
    if TEST_TIME in given:
        told = _check(Deliberation, given.pop(TEST_TIME), f"{FIELD}.{TEST_TIME}")
        if told.checks_itself and told.check == "model" and not answers_questions(choice.name):
            raise InvalidField(
                f"{FIELD}.{TEST_TIME}.check",
                f"the {choice.name} policy answers no questions: have a process reward model say whether"
                ' it is done, e.g. "judge"',
            )
    if not isinstance(given.pop(NOTEBOOK, False), bool):
        raise InvalidField(f"{FIELD}.{NOTEBOOK}", "expected true or false, e.g. true")
    kind = LocalSettings if choice.name == "local" else settings_of(choice.name)
    if kind is not None:
        _check(kind, given, FIELD)
        _go_together(kind, given)
    elif given:
        raise InvalidField(f"{FIELD}.{min(given)}", f"the {choice.name} policy has no settings, e.g. {{}}")
    refuse_alike(choice.name, given, told)
    if choice.name == "local" and given.get("path") is not None and BRINGS not in scopes:
        raise InvalidField(
            f"{FIELD}.path",
            f"a folder of this machine needs the scope {BRINGS!r}; name a kept one by policy_id",
        )
    if (url := given.get("base_url")) is not None:
        check_listed(f"{FIELD}.base_url", url, "endpoints", endpoints)


def check_solved(choice: PolicyChoice, task: Task) -> None:
    """Refuse the scripted policy for a task that nobody wrote an oracle for.

    Raises:
        InvalidField: `policy.name`.
    """
    if choice.name == "scripted" and not has_oracle(task.id):
        raise InvalidField(
            "policy.name",
            f"no oracle is known for the task {task.id!r}; choose another policy, e.g. local",
        )


def check_branching(choice: PolicyChoice) -> None:
    """Refuse what a branch has no room for: it is one attempt, told the notes of the episode it leaves.

    Args:
        choice: as `check_policy` left it.

    Raises:
        InvalidField: several attempts, each from the start, or a notebook.
    """
    told = choice.settings.get(TEST_TIME, {})
    if isinstance(told, dict) and told.get("attempts", 1) != 1:
        raise InvalidField(
            f"{FIELD}.{TEST_TIME}.attempts",
            "a branch goes on from its step once, and a further attempt begins at the task's start: give 1",
        )
    if choice.settings.get(NOTEBOOK):
        raise InvalidField(
            f"{FIELD}.{NOTEBOOK}",
            "a branch is told the notes of the episode it leaves, and keeps none: leave it out",
        )


async def check_kept(store: Store, choices: Iterable[tuple[str, PolicyChoice]]) -> None:
    """Refuse local policies that the store does not keep.

    Args:
        choices: each with what comes before its field's name.

    Raises:
        InvalidField: the first that is not there; carries the nearest ones.
        StoreUnavailable: the database cannot be read.
    """
    seen = {DESKHAND_TINY}
    for before, choice in choices:
        for name in KEPT if choice.name == "local" else ():
            named = choice.settings.get(name)
            if isinstance(named, str) and named not in seen:
                with named_in(f"{before}{FIELD}.{name}"):
                    await store.policy(named)
                seen.add(named)


def _go_together(kind: type[Any], given: Mapping[str, Any]) -> None:
    """Refuse what does not go with the rest of a record that is told in part."""
    try:
        read_settings(kind, given)
    except TypeError as error:
        raise InvalidField(FIELD, str(error)) from error


def _check(kind: type[T], values: object, field: str) -> T:
    known = {one.name for one in fields(cast("Any", kind))}
    if isinstance(values, Mapping):
        for name in values:
            if name not in known:
                raise InvalidField(f"{field}.{name}", f"there are: {', '.join(sorted(known))}")
    try:
        return _reader(kind).validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join((field, *(str(part) for part in first["loc"])))
        example = _example(kind, first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise InvalidField(where, said if example is None else f"{said}, e.g. {example}") from error


@cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _example(kind: type[Any], where: tuple[int | str, ...]) -> str | None:
    """What the setting is where nobody says anything, or something of its type."""
    if not where:
        return None
    schema = _reader(kind).json_schema()
    described = {"components": {"schemas": schema.get("$defs", {})}}
    setting = schema["properties"].get(where[0], {})
    default = setting.get("default")
    return json.dumps(value_of(described, setting) if default is None else default)
