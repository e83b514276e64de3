"""Prints the windows on the screen as text, as AT-SPI tells it: one line for each thing there is.

`python3 atspi_tree.py NODES SECONDS ANSWER_S`: indented by depth, a line has the role, the name, the text,
the states and the pixel to click at, as the text tree of a browser has them. It stops at that many lines or
seconds, and says so, as it does of programs that give no answer in theirs. Where nobody can be asked at
all, it ends with a reason. It runs beside the programs, with the system's Python, and imports nothing of
Deskhand.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

SILENT = frozenset({"filler", "panel", "section", "unknown", "separator", "scroll bar"})
"""Roles that say nothing by themselves: shown where they have a name, what is in them in any case."""
CONTROLS = frozenset(
    {"push button", "toggle button", "check box", "radio button", "menu item", "entry", "combo box", "slider"}
)
"""Roles of which it is told that they are disabled."""
LONGEST_TEXT = 200
STATES = ("FOCUSED", "CHECKED", "SELECTED", "EXPANDED")
CROWD = 300
"""Children that are looked at of one node: a table has a million."""
NO_BUS = 2
"""What `Atspi.init` returns where it reaches no bus; what is asked after that ends the process."""


def walk(kit: Any, node: Any, depth: int) -> Iterator[str]:
    """Lines of a node and of what lies in it, in the order of a screen reader; nothing that is not shown."""
    role = node.get_role_name()  # first: of what does not answer, states are told all the same
    states = node.get_state_set()
    if depth and not states.contains(kit.StateType.SHOWING):
        return
    said = line(kit, node, role, states)
    if said is not None:
        yield "  " * depth + said
        depth += 1
    count = node.get_child_count()
    for at in range(min(count, CROWD)):
        child = node.get_child_at_index(at)
        if child is not None:
            yield from walk(kit, child, depth)
    if count > CROWD:
        yield "  " * depth + f"[{count - CROWD} more in it are left out]"


def line(kit: Any, node: Any, role: str, states: Any) -> str | None:
    """A node in words; None where it says nothing."""
    name = " ".join((node.get_name() or "").split())
    text = node.get_text_iface()
    value = text.get_text(0, min(text.get_character_count(), LONGEST_TEXT)) if text is not None else ""
    if role in SILENT and not name:
        return None
    words = [role]
    if name:
        words.append(json.dumps(name, ensure_ascii=False))
    if value and value != name:
        words.append(f"value={json.dumps(value, ensure_ascii=False)}")
    words += [f"[{state.lower()}]" for state in STATES if states.contains(getattr(kit.StateType, state))]
    if role in CONTROLS and not states.contains(kit.StateType.SENSITIVE):
        words.append("[disabled]")
    place = node.get_component_iface()
    if place is not None:
        box = place.get_extents(kit.CoordType.SCREEN)
        if box.width > 0 and box.height > 0:
            words.append(f"({box.x + box.width // 2}, {box.y + box.height // 2})")
    return " ".join(words)


def programs(kit: Any, broken: type[Exception], answer_s: float) -> Iterator[str]:
    """Lines of every program there is.

    Args:
        answer_s: that each may take for an answer; twice as long where it has just begun.

    Raises:
        SystemExit: nobody can be asked; says why.
    """
    if kit.init() == NO_BUS:
        sys.exit("nobody answers on the accessibility bus")
    kit.set_timeout(round(1000 * answer_s), round(2000 * answer_s))
    desktop = kit.get_desktop(0)
    count = desktop.get_child_count()
    if count < 0:
        sys.exit("the accessibility registry does not answer")
    for at in range(count):
        try:
            program = desktop.get_child_at_index(at)
            if program is not None:
                yield from walk(kit, program, 0)
        except broken as error:
            yield f"[a program, or the rest of it, is left out: {str(error).partition('. ')[0]}]"


def main() -> None:
    """Print the tree, as far as its limits go."""
    import gi  # pyright: ignore[reportMissingImports]

    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, GLib  # pyright: ignore[reportMissingImports]

    nodes, deadline = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    for said in programs(Atspi, GLib.Error, float(sys.argv[3])):
        if nodes <= 0 or time.monotonic() > deadline:
            print("[the rest is left out]")
            return
        print(said)
        nodes -= 1


if __name__ == "__main__":
    main()
