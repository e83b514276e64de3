"""Prints the accessibility tree of the windows on the screen, as AT-SPI tells it.

`python3 tree.py NODES SECONDS`: one line a node, indented by depth: role, name, and box as left, top, width,
height. It stops at that many nodes or seconds, and says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any


def walk(node: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """A node and what lies in it, in the order of the screen reader."""
    yield node, depth
    for at in range(node.get_child_count()):
        child = node.get_child_at_index(at)
        if child is not None:
            yield from walk(child, depth + 1)


def line(kit: Any, node: Any, depth: int) -> str | None:
    """A node as a line; None where it is not on the screen."""
    states = node.get_state_set()
    if depth and not states.contains(kit.StateType.SHOWING):
        return None
    said = [node.get_role_name(), repr(node.get_name() or "")]
    place = node.get_component_iface()
    if place is not None:
        box = place.get_extents(kit.CoordType.SCREEN)
        said.append(f"({box.x}, {box.y}, {box.width}, {box.height})")
    text = node.get_text_iface()
    if text is not None and (count := text.get_character_count()):
        said.append(f"text={text.get_text(0, min(count, 200))!r}")
    flags = ("FOCUSED", "CHECKED", "SELECTED")
    said += [flag.lower() for flag in flags if states.contains(getattr(kit.StateType, flag))]
    return "  " * depth + " ".join(said)


def main() -> None:
    """Print the tree of every program that answers."""
    import gi  # pyright: ignore[reportMissingImports]

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, GLib  # pyright: ignore[reportMissingImports]

    nodes, deadline = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    Atspi.set_timeout(1000, 2000)
    desktop = Atspi.get_desktop(0)
    for at in range(desktop.get_child_count()):
        try:
            for node, depth in walk(desktop.get_child_at_index(at), 0):
                if nodes <= 0 or time.monotonic() > deadline:
                    print("[the rest is left out]")
                    return
                shown = line(Atspi, node, depth)
                if shown is not None:
                    print(shown)
                    nodes -= 1
        except GLib.Error:  # that program has ended, or does not answer
            continue


if __name__ == "__main__":
    main()
