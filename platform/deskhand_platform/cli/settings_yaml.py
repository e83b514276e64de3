"""YAML as settings are written: with 2e-4 as a number, as YAML 1.2 has it and PyYAML (1.1) does not."""

from __future__ import annotations

import re

import yaml

_EXPONENT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+")


class _Loader(yaml.SafeLoader):
    """Reads 2e-4 as a number."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))


def read_yaml(text: str) -> object:
    """The value.

    Raises:
        yaml.YAMLError: it is not YAML.
    """
    try:
        # a SafeLoader, which builds plain values alone
        return yaml.load(text, Loader=_Loader)
    except (ValueError, RecursionError) as error:
        # of what looks like a date and is none, and of brackets nested too deeply
        raise yaml.YAMLError(str(error)) from error
