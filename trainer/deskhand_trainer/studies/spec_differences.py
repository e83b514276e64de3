"""What a run was told, beside what is asked of it now: an old result never stands under new settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from textwrap import shorten
from typing import Any, cast

from deskhand_trainer.errors import ConfigError
from deskhand_trainer.run import config_of
from deskhand_trainer.runs import RunSpec

SHOWN, WIDTH = 4, 60
"""Differences that are named, and characters of a value."""
_NOTHING = object()


def differences(found: RunSpec, asked: RunSpec) -> list[str]:
    """What differs, a phrase each: kind, policies and settings; not where the store is or when it was begun.

    A setting that the older one does not know counts as its default.
    """
    return differing(_told(found), _told(asked))


def differing(found: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What differs between two mappings of settings, a phrase each."""
    before, now = (_flat(json.loads(json.dumps(dict(each)))) for each in (found, asked))
    names = [name for name in {**before, **now} if before.get(name, _NOTHING) != now.get(name, _NOTHING)]
    return [f"{name} is {_said(before, name)} there and {_said(now, name)} now" for name in names]


def summary(differ: list[str]) -> str:
    """The first few of them in a sentence."""
    more = len(differ) - SHOWN
    return "; ".join(differ[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _told(spec: RunSpec) -> dict[str, Any]:
    try:
        config = asdict(config_of(spec))
    except ConfigError:
        config = dict(spec.config)
    head = {"the kind": spec.kind.value, "the policy": spec.policy_in, "the reward model": spec.prm_in}
    return {**head, **config}


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and value:
            flat |= _flat(cast("dict[str, Any]", value), f"{path}{name}.")
        else:
            flat[f"{path}{name}"] = value
    return flat


def _said(told: Mapping[str, Any], name: str) -> str:
    return shorten(json.dumps(told[name]), WIDTH, placeholder=" …") if name in told else "not told"
