"""Rules that come in a request as YAML text."""

from __future__ import annotations

from typing import cast

import yaml

from deskhand_platform.errors import InvalidField


def mapping_in(rules: str, of: str) -> dict[str, object]:
    """What the text holds; nothing where it is empty.

    Args:
        of: what it should hold, with an example.

    Raises:
        InvalidField: it is no YAML, or no mapping.
    """
    try:
        values: object = yaml.safe_load(rules) if rules.strip() else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that is none, a huge number
        raise InvalidField("rules", f"is no YAML: {error}") from error
    if not isinstance(values, dict):
        raise InvalidField("rules", f"must be a mapping of {of}")
    return cast("dict[str, object]", values)
