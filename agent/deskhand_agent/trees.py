"""A screen's accessibility tree as a model is shown it: in the coordinates it writes itself, and bounded."""

from __future__ import annotations

import re
from collections.abc import Callable

from deskhand_agent.memory.room import clipped, size
from deskhand_sandbox.dialects.coordinates import Frame
from deskhand_sandbox.types import Point

OFF_SCREEN = "[off the screen]"
"""How a line ends whose thing has to be scrolled to."""
_PLACE = re.compile(
    r"(?P<point>(?<= \()-?\d+, -?\d+(?=\)$))"
    r"|(?P<box>(?<= \[)-?\d+,-?\d+\]\[-?\d+,-?\d+(?=\](?: [a-z-]+)*$))",
    re.MULTILINE,
)
"""Where a thing is, as lines end: "(x, y)", or on Android "[left,top][right,bottom]" and its states. Names
are in quotes before it, so that no page can write one."""


def tells(tree: str | None) -> bool:
    """Whether a tree names anything: some programs tell nothing, and what was left out says why alone."""
    return tree is not None and any(line and not line.startswith("[") for line in tree.splitlines())


def in_frame(tree: str, frame: Frame) -> str:
    """The tree with every place in a model's frame."""
    return _PLACE.sub(lambda found: _written(found, frame.to_model), tree)


def shortened(tree: str, longest: int) -> str:
    """The tree in no more bytes than that, in whole lines; says how many are left out.

    What is off the screen goes first, then what comes last.
    """
    if size(tree) <= longest:
        return tree
    lines = tree.splitlines()
    room = longest - size(_note(len(lines)))
    kept: set[int] = set()
    # a stable sort: in the tree's order among those on the screen, and among those that are not
    for number in sorted(range(len(lines)), key=lambda n: lines[n].endswith(OFF_SCREEN)):
        room -= size(lines[number]) + 1
        if room < 0:
            break
        kept.add(number)
    if not kept:
        return clipped(tree, longest)
    shown = [lines[number] for number in sorted(kept)]
    return "\n".join((*shown, _note(len(lines) - len(kept))))


def _note(lines: int) -> str:
    return f"[{lines} lines left out]"


def _written(found: re.Match[str], convert: Callable[[Point], Point]) -> str:
    numbers = [int(each) for each in re.findall(r"-?\d+", found[0])]
    points = [convert((x, y)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    if found["point"] is not None:
        return "{}, {}".format(*points[0])
    return "][".join("{},{}".format(*point) for point in points)
