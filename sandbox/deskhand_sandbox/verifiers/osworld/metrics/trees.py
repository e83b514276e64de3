"""`check_accessibility_tree`: what is on the screen, by the outline our sandboxes give of it.

A line of an outline is: role, "name", value="text", [states], (x, y). It becomes an element: its tag is the
role with hyphens, its attributes are the name and the states, its text the value, or the name where there is
none. Attributes that programs set besides are not in an outline, and rules that ask for them are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast
from xml.etree import ElementTree

from deskhand_sandbox.accessibility import outline
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.likeness import ratio
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options
from deskhand_sandbox.verifiers.osworld.values import Value, text_of

_STEP = re.compile(r"\s*(?P<joint>>?)\s*(?P<tag>[\w-]+|\*)")
_TEST = re.compile(r"""\[\s*(?P<name>[\w|:-]+)\s*=\s*(?P<value>"[^"\\]*"|'[^'\\]*'|[^'"\\\]]*?)\s*\]""")
KNOWN = frozenset({"name", "focused", "checked", "selected", "expanded", "disabled"})


def elements_of(text: str) -> ElementTree.Element:
    """The tree of an outline."""
    root = ElementTree.Element("desktop")
    path: list[tuple[int, ElementTree.Element]] = [(-1, root)]
    for line in text.splitlines():
        found = outline.LINE.match(line)
        if found is None:
            continue
        depth = len(found["indent"])
        while path[-1][0] >= depth:
            path.pop()
        made = ElementTree.SubElement(path[-1][1], found["role"].strip().replace(" ", "-"))
        name, value = (outline.text_of(found[part]) if found[part] else None for part in ("name", "value"))
        if name is not None:
            made.set("name", name)
        for state in outline.states_of(found):
            made.set(state, "true")
        made.text = value if value is not None else name
        path.append((depth, made))
    return root


def path_of(selector: str) -> str:
    """A CSS selector as a path of ElementTree: tags, attributes by "=", " " and ">".

    Raises:
        InvalidTask: it asks for more, or for what is not in an outline.
    """
    path, at = ".", 0
    while at < len(selector.rstrip()):
        found = _STEP.match(selector, at)
        if found is None:
            raise InvalidTask(f"{selector!r} asks for more than tags, attributes by = and what is within")
        path += ("/" if found["joint"] else "//") + found["tag"]
        at = found.end()
        while found := _TEST.match(selector, at):
            path += _test(found, selector)
            at = found.end()
    return path


def _test(found: re.Match[str], selector: str) -> str:
    name, value = re.split(r"[|:]", found["name"])[-1], found["value"]
    if name not in KNOWN or found["name"].startswith("attr"):
        known = ", ".join(sorted(KNOWN))
        raise InvalidTask(f"{selector!r} asks for {found['name']!r}; the outline of a screen has {known}")
    quoted = value if value.startswith(("'", '"')) else f"'{value}'"
    return f"[@{name}={quoted}]"


def check_accessibility_tree(result: Value, expected: Value, options: Options) -> float:
    """For every rule there is an element that its path or selectors find, with its text."""
    root = elements_of(text_of(result))
    score = 1.0
    for rule in _rules(cast("JsonValue", expected)):
        found = [each for path in _paths(rule) for each in root.findall(path)]
        if not found:
            return 0.0
        if isinstance(text := rule.get("text"), str):
            exact = rule.get("exact", True) is True
            likeness = [float(text == each.text) if exact else ratio(text, each.text or "") for each in found]
            score *= max(likeness)
    return score


def _rules(expected: JsonValue) -> list[Mapping[str, JsonValue]]:
    listed = expected if isinstance(expected, list) else [expected]
    return [each for each in listed if isinstance(each, Mapping)]


def _paths(rule: Mapping[str, JsonValue]) -> list[str]:
    if isinstance(path := rule.get("xpath"), str):
        return [f".{path}" if path.startswith("/") else path]
    selectors = rule.get("selectors")
    if not isinstance(selectors, list) or not selectors:
        raise InvalidTask("a rule about the accessibility tree needs selectors or xpath")
    return [path_of(str(each)) for each in selectors]


def _check(rules: JsonValue, options: Options) -> None:
    """Refuse paths nobody here can follow."""
    for rule in _rules(rules):
        for path in _paths(rule):
            try:
                ElementTree.Element("desktop").findall(path)
            except (SyntaxError, KeyError) as error:
                raise InvalidTask(f"the path {path!r} cannot be followed here: {error}") from error


METRICS: Mapping[str, Metric] = {"check_accessibility_tree": Metric(check_accessibility_tree, _check)}
"""By OSWorld's name."""
