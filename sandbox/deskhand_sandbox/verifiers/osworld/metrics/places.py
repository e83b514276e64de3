"""Metrics of where things are: folders, tabs, favourites."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.setup.tabs import same_address
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options, wants
from deskhand_sandbox.verifiers.osworld.metrics.patterns import found
from deskhand_sandbox.verifiers.osworld.metrics.texts import rule, rule_list
from deskhand_sandbox.verifiers.osworld.values import Unusable, Value, text_of


def check_moved_jpgs(result: Value, expected: Value, options: Options) -> float:
    """A folder holds these files and nothing else."""
    if not isinstance(result, dict) or "children" not in result:
        raise Unusable("there is no such folder")
    children = cast("list[dict[str, JsonValue]]", result["children"])
    return float({str(each["name"]) for each in children} == set(map(str, rule_list(expected, "expected"))))


def check_gnome_favorite_apps(result: Value, expected: Value, options: Options) -> float:
    """The favourites are these, in any order."""
    try:
        found = ast.literal_eval(text_of(result).strip().removeprefix("@as "))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise Unusable("the answer is no list") from error
    return float(
        isinstance(found, list) and set(map(str, found)) == set(map(str, rule_list(expected, "expected")))
    )


def check_text_enlarged(result: Value, expected: Value, options: Options) -> float:
    """Text is shown larger than it was: the factor is above 1."""
    try:
        return float(float(text_of(result)) > 1)
    except ValueError as error:
        raise Unusable("the answer is no number") from error


def is_utc_0(result: Value, expected: Value, options: Options) -> float:
    """`timedatectl status` tells of the time zone UTC."""
    lines = [line.strip() for line in text_of(result).splitlines() if "Time zone" in line]
    return float(bool(lines) and lines[0].endswith("+0000)"))


def is_expected_active_tab(result: Value, expected: Value, options: Options) -> float:
    """The address in front."""
    url = result.get("url") if isinstance(result, dict) else result
    return float(isinstance(url, str) and same_address(url, str(rule(expected, "url"))))


def is_expected_active_tab_approximate(result: Value, expected: Value, options: Options) -> float:
    """The address in front, whatever its query."""
    url = result.get("url") if isinstance(result, dict) else result
    if not isinstance(url, str):
        return 0.0
    bare = [re.split("[?#]", each, maxsplit=1)[0] for each in (url, str(rule(expected, "url")))]
    return float(same_address(*bare))


def is_expected_url_pattern_match(result: Value, expected: Value, options: Options) -> float:
    """The address in front holds a match of each pattern."""

    url = result.get("url") if isinstance(result, dict) else result
    return float(
        isinstance(url, str) and all(found(str(each), [url]) for each in rule_list(expected, "expected"))
    )


def is_expected_tabs(result: Value, expected: Value, options: Options) -> float:
    """These tabs are open, no more and no fewer."""
    if not isinstance(result, list):
        return 0.0
    open_now = [str(each.get("url")) for each in cast("list[object]", result) if isinstance(each, Mapping)]
    wanted = [str(each) for each in rule_list(expected, "urls")]
    both = all(any(same_address(one, two) for two in open_now) for one in wanted)
    return float(both and all(any(same_address(one, two) for two in wanted) for one in open_now))


def _tabs(rules: JsonValue, options: Options) -> None:
    if isinstance(rules, Mapping) and rules.get("type") != "url":
        raise InvalidTask(
            f"evaluator.expected.rules: of type only url is supported, not {rules.get('type')!r}"
        )


METRICS: Mapping[str, Metric] = {
    "check_gnome_favorite_apps": Metric(check_gnome_favorite_apps, wants("expected")),
    "check_moved_jpgs": Metric(check_moved_jpgs, wants("expected")),
    "check_text_enlarged": Metric(check_text_enlarged, needs_expected=False),
    "is_expected_active_tab": Metric(is_expected_active_tab, _tabs),
    "is_expected_active_tab_approximate": Metric(is_expected_active_tab_approximate, _tabs),
    "is_expected_tabs": Metric(is_expected_tabs, _tabs),
    "is_expected_url_pattern_match": Metric(is_expected_url_pattern_match, wants("expected")),
    "is_utc_0": Metric(is_utc_0, needs_expected=False),
}
"""By OSWorld's name."""
