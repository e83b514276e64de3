"""The elements of a page and its frames as text, by their tags and attributes."""

from __future__ import annotations

from collections.abc import Iterator

from deskhand_sandbox.backends.browser.geometry import Document, Snapshot, centre
from deskhand_sandbox.backends.browser.quoting import quoted

SHOWN = ("type", "name", "placeholder", "role", "aria-label", "alt", "title", "href", "for", "colspan")
"""Attributes that are shown, besides id."""
WRAPPERS = frozenset({"div", "span", "html", "body", "tbody", "section", "article", "main", "center", "font"})
"""Elements that say nothing without a text, an id or a role of their own."""
ELEMENT, TEXT = 1, 3


def dom_lines(snapshot: Snapshot) -> Iterator[str]:
    """A line for every drawn element that says something, those of frames inside the frames' own."""
    return _document(snapshot, snapshot.documents[0], 0)


def _document(snapshot: Snapshot, document: Document, depth: int) -> Iterator[str]:
    reading = _Reading(snapshot, document)
    waiting = [(0, depth)]
    while waiting:
        index, depth = waiting.pop()
        line = reading.line(index)
        if line is not None:
            yield "  " * depth + line
            depth += 1
        inner = document.inside.get(index)
        if inner is not None:
            yield from _document(snapshot, snapshot.documents[inner], depth)
        waiting += [(each, depth) for each in reversed(reading.children.get(index, []))]


class _Reading:
    """One document, ready to be read node by node."""

    def __init__(self, snapshot: Snapshot, document: Document) -> None:
        self._strings = snapshot.strings
        self._document = document
        nodes, layout = document.nodes, document.layout
        self._boxes = document.boxes()
        self._hidden = {
            index
            for index, styles in zip(layout["nodeIndex"], layout["styles"], strict=True)
            if styles and self._strings[styles[0]] != "visible"
        }
        self._clickable = set(nodes.get("isClickable", {}).get("index", []))
        self._checked = set(nodes.get("inputChecked", {}).get("index", []))
        self._values = {
            index: self._strings[text]
            for part in ("inputValue", "textValue")
            for index, text in zip(
                nodes.get(part, {}).get("index", []), nodes.get(part, {}).get("value", []), strict=True
            )
        }
        self.children: dict[int, list[int]] = {}
        for index, parent in enumerate(nodes["parentIndex"]):
            self.children.setdefault(parent, []).append(index)

    def line(self, index: int) -> str | None:
        """What is shown of a node; None when it shows nothing of its own."""
        if index not in self._boxes or index in self._hidden:
            return None
        kind = self._document.nodes["nodeType"][index]
        if kind == TEXT:
            parent = self._document.nodes["parentIndex"][index]
            if self._own_text(parent) and self._element(parent) is not None:
                return None  # told with its element
            return self._place(index, quoted(self._string("nodeValue", index)))
        return self._element(index) if kind == ELEMENT else None

    def _element(self, index: int) -> str | None:
        tag = self._string("nodeName", index).lower()
        attributes = self._attributes(index)
        text = self._own_text(index)
        words = [f"<{tag}" + (f"#{attributes['id']}" if attributes.get("id") else "")]
        words += [f"{name}={quoted(attributes[name])}" for name in SHOWN if attributes.get(name)]
        if self._values.get(index):
            words.append(f"value={quoted(self._values[index])}")
        words += ["checked"] if index in self._checked else []
        words += ["disabled"] if "disabled" in attributes else []
        if tag.startswith("::") or (
            tag in WRAPPERS
            and len(words) == 1
            and "#" not in words[0]
            and not text
            and index not in self._clickable
        ):
            return None
        line = " ".join(words) + ">"
        return self._place(index, f"{line} {quoted(text)}" if text else line)

    def _place(self, index: int, line: str) -> str | None:
        if line == '""':
            return None
        at = centre(self._boxes[index], self._document.clips[index])
        return f"{line} ({at[0]}, {at[1]})" if at is not None else f"{line} [off the screen]"

    def _own_text(self, index: int) -> str:
        """The text of an element that holds nothing else."""
        inside = self.children.get(index, [])
        if len(inside) != 1 or self._document.nodes["nodeType"][inside[0]] != TEXT:
            return ""
        return " ".join(self._string("nodeValue", inside[0]).split())

    def _attributes(self, index: int) -> dict[str, str]:
        told = [self._strings[each] for each in self._document.nodes["attributes"][index]]
        return dict(zip(told[::2], told[1::2], strict=True))

    def _string(self, part: str, index: int) -> str:
        number = self._document.nodes[part][index]
        return self._strings[number] if number >= 0 else ""
