"""YAML whose values know their lines, so that an error can say where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import TypeAlias, cast

import yaml

from deskhand_sandbox.errors import InvalidTask

Path: TypeAlias = tuple[str | int, ...]


class Located:
    """A document: its value, and the line of every part of it."""

    def __init__(self, text: str, name: str) -> None:
        """
        Args:
            name: of the file, for errors.

        Raises:
            InvalidTask: it is no YAML, or names a key twice; says the line.
        """
        self.name = name
        self._lines: dict[Path, int] = {}
        loader: yaml.SafeLoader | None = None
        try:
            loader = yaml.SafeLoader(text)
            node = loader.get_single_node()
            if node is not None:
                self._note(node, (), ())
            self.value: object = None if node is None else loader.construct_document(node)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise InvalidTask(f"{name} line {line}: {error.problem or 'no YAML'}") from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InvalidTask(f"{name}: no YAML: {error}") from error
        finally:
            if loader is not None:
                loader.dispose()

    def wrong(self, path: Path, what: str) -> InvalidTask:
        """The error about the part at `path`."""
        at = path
        while at and at not in self._lines:
            at = at[:-1]
        where = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).lstrip(".")
        return InvalidTask(
            f"{self.name} line {self._lines.get(at, 1)}: {where + ': ' if where else ''}{what}"
        )

    def _note(self, node: yaml.Node, path: Path, within: tuple[yaml.Node, ...]) -> None:
        line = node.start_mark.line + 1
        if any(node is each for each in within):
            raise InvalidTask(f"{self.name} line {line}: a part holds itself")
        self._lines.setdefault(path, line)
        for key, child, child_line in self._children(node):
            self._lines[(*path, key)] = child_line
            self._note(child, (*path, key), (*within, node))

    def _children(self, node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node, int]]:
        if isinstance(node, yaml.SequenceNode):
            for number, child in enumerate(node.value):
                yield number, child, child.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, child in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in seen:
                    raise InvalidTask(f"{self.name} line {line}: {name} is there twice")
                seen.add(name)
                yield name, child, line


class Reader:
    """Takes a mapping of a document apart, field by field."""

    def __init__(self, document: Located, value: object, path: Path) -> None:
        """
        Raises:
            InvalidTask: it is no mapping.
        """
        self.document = document
        self.path = path
        if not isinstance(value, Mapping) or not all(
            isinstance(key, str) for key in cast("Mapping[object, object]", value)
        ):
            raise document.wrong(path, f"must be a mapping of names, not {short(value)}")
        self._values = dict(cast("Mapping[str, object]", value))

    def wrong(self, name: str, what: str) -> InvalidTask:
        """The error about one field."""
        return self.document.wrong((*self.path, name), what)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; one that is needed where there is no default."""
        value = self._values.pop(name, default)
        if value is None:
            raise self.document.wrong(self.path, f"{name} is missing")
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(name, f"must be text, not {short(value)}")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite number above zero."""
        value = self._values.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise self.wrong(name, f"must be a finite number above zero, not {short(value)}")
        return value

    def mapping(self, name: str) -> dict[str, object]:
        """A mapping of names; an empty one where there is none."""
        value = self._values.pop(name, None)
        return dict(Reader(self.document, {} if value is None else value, (*self.path, name))._values)

    def items(self, name: str) -> list[object] | None:
        """A list; None where there is none."""
        value = self._values.pop(name, None)
        if value is not None and not isinstance(value, list):
            raise self.wrong(name, f"must be a list, not {short(value)}")
        return cast("list[object] | None", value)

    def done(self, known: str) -> None:
        """
        Args:
            known: what there is, for the error.

        Raises:
            InvalidTask: a field is left that nobody knows.
        """
        for name in self._values:
            raise self.wrong(name, f"unknown; there is: {known}")


def short(value: object) -> str:
    """A value for an error."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
