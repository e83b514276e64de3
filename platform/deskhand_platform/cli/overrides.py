"""`--set ppo.iterations=10`: dotted names and YAML values as a nested mapping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from deskhand_platform.cli.settings_yaml import read_yaml
from deskhand_platform.errors import InvalidField


def parse(pairs: Iterable[str], option: str = "--set", example: str = "ppo.iterations=10") -> dict[str, Any]:
    """The mapping.

    Args:
        option: under which they were given.
        example: of one.

    Raises:
        InvalidField: a pair without "=", or a name that is a value and a mapping at once.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InvalidField(option, f"{pair!r} is not of the form name=value, e.g. {example}")
        *path, last = name.split(".")
        level = found
        for part in path:
            level = level.setdefault(part, {})
            if not isinstance(level, dict):
                raise InvalidField(option, f"{name!r} goes into {part!r}, which was given a value")
        try:
            level[last] = read_yaml(text)
        except yaml.YAMLError as error:
            raise InvalidField(option, f"the value of {name!r} cannot be read: {text!r}") from error
    return found
