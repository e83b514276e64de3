"""The outline that `observe(text_tree=True)` gives of a screen, read.

A line is: role, "name", value="text", [states], (x, y); what is within another thing is indented below it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_QUOTED = r'"(?:[^"\\]|\\.)*"'
LINE = re.compile(
    rf'^(?P<indent> *)(?P<role>[^"\[(=]+?)(?: (?P<name>{_QUOTED}))?(?: value=(?P<value>{_QUOTED}))?'
    r"(?P<states>(?: \[[^\]]*\])*)(?: \((?P<x>-?\d+), (?P<y>-?\d+)\))?$"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One thing on the screen."""

    role: str
    name: str
    """As it is called; empty where it is not."""
    value: str
    """What it holds; empty where that is nothing."""
    states: frozenset[str]
    """`checked`, "selected", "expanded", "disabled", …"""
    point: tuple[int, int] | None
    """Where a click uses it; None off the screen."""


def read_outline(text: str) -> tuple[Node, ...]:
    """The things of an outline, in its order; lines that are none are passed over."""
    return tuple(_node(found) for line in text.splitlines() if (found := LINE.match(line)) is not None)


def states_of(line: re.Match[str]) -> list[str]:
    """The states of a line."""
    return re.findall(r"\[([^\]]*)\]", line["states"] or "")


def text_of(quoted: str) -> str:
    """A name or a value as it was before it was quoted; a page may put control characters into either."""
    text: str = json.loads(quoted, strict=False)
    return text


def _node(line: re.Match[str]) -> Node:
    return Node(
        role=line["role"].strip(),
        name=text_of(line["name"]) if line["name"] else "",
        value=text_of(line["value"]) if line["value"] else "",
        states=frozenset(states_of(line)),
        point=None if line["x"] is None else (int(line["x"]), int(line["y"])),
    )
