"""Named rounds: one YAML file each, beside this package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from deskhand_platform.errors import NotFound
from deskhand_platform.rounds import DEFAULT as DEFAULT
from deskhand_platform.rounds.config import RoundConfig, check_runs, merge, round_config

FOLDER = files("deskhand_platform") / "presets"


def preset_names() -> tuple[str, ...]:
    """Every preset, the default first, the others by name."""
    names = (file.name.removesuffix(".yaml") for file in FOLDER.iterdir() if file.name.endswith(".yaml"))
    return tuple(sorted(names, key=lambda name: (name != DEFAULT, name)))


def preset(name: str, overrides: Mapping[str, Any] | None = None) -> RoundConfig:
    """A preset with overrides laid on it; what its runs are told is not looked into.

    Raises:
        NotFound: no preset of that name.
        InvalidField: an override is refused; names the field.
    """
    if name not in preset_names():
        raise NotFound("preset", name, preset_names())
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    return round_config(merge(values, overrides or {}))


def checked_preset(name: str, overrides: Mapping[str, Any] | None = None) -> RoundConfig:
    """The same with every run's settings checked as the trainer will; seconds the first time.

    Raises:
        NotFound: no preset of that name.
        InvalidField: an override is refused, by us or by the trainer; names the field.
    """
    config = preset(name, overrides)
    check_runs(config)
    return config
