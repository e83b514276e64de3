"""The text tree of a screen, out of what `uiautomator dump` tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from deskhand_sandbox.errors import InfrastructureError

LONGEST_DUMP = 8 << 20
LONGEST_TEXT = 200
_BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
_STATES = (
    "clickable", "long-clickable", "checked", "selected", "focused", "scrollable", "password",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One element of the screen."""

    kind: str
    """The last part of its class: "Button", "EditText"."""
    text: str
    description: str
    """What a screen reader says of it."""
    name: str
    """The last part of its resource id; empty for none."""
    states: tuple[str, ...]
    """Those of clickable, long-clickable, checked, selected, focused, scrollable, password that hold; also
    "unchecked" and "disabled"."""
    box: tuple[int, int, int, int]
    """Left, top, right, bottom in pixels of the screenshot."""
    depth: int

    @property
    def point(self) -> tuple[int, int]:
        """Its middle."""
        left, top, right, bottom = self.box
        return (left + right) // 2, (top + bottom) // 2

    def line(self) -> str:
        """The node as a line of the text tree."""
        left, top, right, bottom = self.box
        words = ["  " * self.depth + "-", self.kind]
        words += [f'"{_short(self.text)}"'] if self.text else []
        words += [f'desc="{_short(self.description)}"'] if self.description else []
        words += [f"id={self.name}"] if self.name else []
        return " ".join([*words, f"[{left},{top}][{right},{bottom}]", *self.states])


def read_nodes(document: bytes) -> list[Node]:
    """Every element in a dump, parents before children.

    Raises:
        InfrastructureError: it is no dump; says what came instead.
    """
    end = document.rfind(b"</hierarchy>")
    begin = document.find(b"<hierarchy")
    if begin < 0 or end < 0 or len(document) > LONGEST_DUMP:
        said = document.decode(errors="replace").strip()[:200]
        raise InfrastructureError(f"uiautomator gave no tree of the screen: {said!r}")
    try:
        # from the root element on: no declarations, so no entities of the device's making
        root = ElementTree.fromstring(document[begin : end + len(b"</hierarchy>")])
    except ElementTree.ParseError as error:
        raise InfrastructureError(f"uiautomator gave a broken tree of the screen: {error}") from error
    return [node for child in root for node in _nodes(child, 0)]


def text_tree(nodes: list[Node]) -> str:
    """The nodes as indented lines: kind, text, description, id, box, states."""
    return "\n".join(node.line() for node in nodes)


def _nodes(element: ElementTree.Element, depth: int) -> Iterator[Node]:
    found = _BOUNDS.fullmatch(element.get("bounds", ""))
    box = (0, 0, 0, 0) if found is None else tuple(map(int, found.groups()))
    states = [name for name in _STATES if element.get(name) == "true"]
    if element.get("checkable") == "true" and "checked" not in states:
        states.append("unchecked")
    if element.get("enabled") == "false":
        states.append("disabled")
    node = Node(
        kind=element.get("class", "").rpartition(".")[2] or "View",
        text=element.get("text", ""),
        description=element.get("content-desc", ""),
        name=element.get("resource-id", "").rpartition("/")[2],
        states=tuple(states),
        box=(box[0], box[1], box[2], box[3]),
        depth=depth,
    )
    # boxes that only arrange others say nothing
    silent = not (node.text or node.description or states or node.name)
    if not silent:
        yield node
    for child in element:
        yield from _nodes(child, depth if silent else depth + 1)


def _short(text: str) -> str:
    line = " ".join(text.split()).replace('"', "'")
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"
