"""Methods by the names of their papers: a YAML file each, beside this one, of what a run is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import yaml

from deskhand_trainer.config_parsing import nearest
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.runs import RunKind

FOLDER = files("deskhand_trainer") / "presets"


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """One preset."""

    name: str
    description: str
    """What is special about it, in a sentence."""
    paper: str
    kind: RunKind
    """Of the runs that do it; in the file it is the name of their settings."""
    config: Mapping[str, Any]
    """Fields of the config record of that kind; all others keep their defaults."""


def method_names() -> tuple[str, ...]:
    """Every method, sorted."""
    return tuple(sorted(f.name.removesuffix(".yaml") for f in FOLDER.iterdir() if f.name.endswith(".yaml")))


def method(name: str) -> Method:
    """A method by its name.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    names = method_names()
    if name not in names:
        raise ConfigError(f"no preset {name!r}{nearest(name, names)}")
    told: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    description, paper = told.pop("description"), told.pop("paper")
    ((kind, config),) = told.items()
    return Method(name=name, description=description, paper=paper, kind=RunKind(kind), config=config)
