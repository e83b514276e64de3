"""Named rounds: one YAML file each, beside this package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from deskhand_platform.errors import InvalidField, NotFound
from deskhand_platform.naming import named_in
from deskhand_platform.rounds import DEFAULT as DEFAULT
from deskhand_platform.rounds.config import RoundConfig, check_runs, merge, round_config
from deskhand_platform.rounds.schema import example_of
from deskhand_platform.rounds.tasks import check_tasks

FOLDER = files("deskhand_platform") / "presets"


def preset_names() -> tuple[str, ...]:
    """Every preset, the default first, the others by name."""
    names = (file.name.removesuffix(".yaml") for file in FOLDER.iterdir() if file.name.endswith(".yaml"))
    return tuple(sorted(names, key=lambda name: (name != DEFAULT, name)))


def preset(name: str, overrides: Mapping[str, Any] | None = None) -> RoundConfig:
    """A preset with overrides laid on it; what its runs are told is not looked into.

    Raises:
        InvalidField: there is no preset of that name, or an override is refused; names the field.
    """
    return round_config(_values(name, overrides))


def checked_preset(name: str, overrides: Mapping[str, Any] | None = None) -> RoundConfig:
    """The same with every run's settings checked as the trainer will; seconds the first time.

    Raises:
        InvalidField: there is no preset of that name, or an override is refused, by us or by the trainer;
            names the field.
    """
    return checked_config(_values(name, overrides))


def checked_config(values: Mapping[str, Any]) -> RoundConfig:
    """A config from plain values, checked as deep, and its tasks.

    Raises:
        InvalidField: it is refused, by us or by the trainer; names the field, with an example or what comes
            near.
    """
    try:
        config = round_config(values)
        check_runs(config)
        check_tasks(config)
    except InvalidField as error:
        example = example_of(error.field)
        if example is None or error.suggestions:
            raise
        raise InvalidField(error.field, f"{error.reason}; for example {example}") from error
    return config


def _values(name: str, overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    if name not in preset_names():
        with named_in("preset"):
            raise NotFound("preset", name, preset_names())
    return merge(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()), overrides or {})
