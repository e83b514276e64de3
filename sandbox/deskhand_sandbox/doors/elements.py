"""The things on a screen by number, for agents that name them: BrowserGym's `bid`, AndroidWorld's `index`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deskhand_sandbox.accessibility.outline import LINE, states_of, text_of
from deskhand_sandbox.dialects.dialect import Box, Choice, Option

NAMING = frozenset({"android_world", "browsergym"})
"""Dialects that name them."""
_POINT = re.compile(r" \((-?\d+), (-?\d+)\)$")
_STATE = re.compile(r"\[([^\]]*)\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_CHOOSING = frozenset({"combobox", "listbox"})
_POPUP = "MenuListPopup"
"""What Chromium calls the list of a `select` that drops down."""
_BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Elements:
    """What may be named on one screen."""

    text: str = ""
    """The text tree, the number of each thing in front of its line: `[7] button "Go" (80, 100)`."""
    boxes: Mapping[str, Box] = field(default_factory=dict[str, Box])
    """Where they are, by number, in pixels of the screenshot."""
    checked: frozenset[str] = frozenset()
    """Those that are ticked."""
    choices: Mapping[str, Choice] = field(default_factory=dict[str, Choice])
    """Those in which something is chosen."""


def elements_of(text_tree: str, *, kind: str) -> Elements:
    """The things in a text tree.

    Args:
        kind: of the sandbox, whose form of text tree it is.
    """
    lines: list[str] = []
    boxes: dict[str, Box] = {}
    checked: list[str] = []
    find = _on_android if kind == "android" else _in_outline
    told = text_tree.splitlines()
    for number, line in enumerate(told):
        for box, states in find(line):
            boxes[str(number)] = box
            checked += [str(number)] if "checked" in states else []
        indent = len(line) - len(line.lstrip(" "))
        lines.append(f"{line[:indent]}[{number}] {line[indent:]}" if str(number) in boxes else line)
    choices = {} if kind == "android" else dict(_choices(told))
    return Elements(text="\n".join(lines), boxes=boxes, checked=frozenset(checked), choices=choices)


def _in_outline(line: str) -> Iterator[tuple[Box, list[str]]]:
    """Its one point as a box, where it is on the screen."""
    found = _POINT.search(line)
    if found is not None:
        x, y = float(found[1]), float(found[2])
        yield (x, y, x, y), _STATE.findall(_QUOTED.sub("", line))


def _choices(lines: Sequence[str]) -> Iterator[tuple[str, Choice]]:
    """The elements of an outline in which something is chosen, by number."""
    read = [LINE.match(line) for line in lines]
    for number, element in enumerate(read):
        if element is None or element["role"] not in _CHOOSING or "disabled" in states_of(element):
            continue
        within: list[re.Match[str]] = []
        for line in read[number + 1 :]:
            if line is not None and len(line["indent"]) <= len(element["indent"]):
                break
            within += [] if line is None else [line]
        options = tuple(_option(line) for line in within if line["role"] == "option" and line["name"])
        if options:
            yield (
                str(number),
                Choice(
                    options=options,
                    drops_down=any(line["role"] == _POPUP for line in within),
                    opened="expanded" in states_of(element),
                ),
            )


def _option(line: re.Match[str]) -> Option:
    x, y = line["x"], line["y"]
    return Option(
        label=text_of(line["name"]),
        box=None if x is None else (float(x), float(y), float(x), float(y)),
        enabled="disabled" not in states_of(line),
    )


def _on_android(line: str) -> Iterator[tuple[Box, list[str]]]:
    # texts, which may hold anything, come before the bounds, and states after them
    for found in [*_BOUNDS.finditer(line)][-1:]:
        left, top, right, bottom = (float(each) for each in found.groups())
        yield (left, top, right, bottom), line[found.end() :].split()
