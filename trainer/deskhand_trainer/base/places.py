"""Where things stand on a page, in words, and boxes around what is written.

Words and boxes fit one thing alone, and clearly so to who sees the picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskhand_sandbox.tasks.generated import Thing
from deskhand_sandbox.tasks.layout import Box
from deskhand_trainer.base.pages import SeenPage, within

GRID_PX = 4
"""What models round coordinates to, unless they were told otherwise."""
_SHARED_PX = 1
"""Neighbours may have their line in common."""
_CELLS: Mapping[str, tuple[int, int]] = {
    "in the top left corner": (0, 0),
    "in the top right corner": (2, 0),
    "in the bottom left corner": (0, 2),
    "in the bottom right corner": (2, 2),
    "in the middle": (1, 1),
}
"""Column and row of three each."""


def placed(page: SeenPage, role: str) -> list[tuple[Thing, str]]:
    """Things of a role that can be called by their place, and words for each; for some there are several.

    A radio button is a button to who looks for one: it must not answer to the words either.
    """
    like = [each for each in page.things if each.role.endswith(role)]
    found = [(_farthest(like, axis, sign), f"the {words} {role}") for words, axis, sign in _ENDS]
    found += [(_alone_in(page, like, *cell), f"the {role} {words}") for words, cell in _CELLS.items()]
    return [(thing, words) for thing, words in found if thing is not None and thing.role == role]


_ENDS = (("topmost", 1, -1), ("lowest", 1, 1), ("leftmost", 0, -1), ("rightmost", 0, 1))
"""Words, and the axis and the sense in which it is the farthest."""


def _farthest(like: Sequence[Thing], axis: int, sign: int) -> Thing | None:
    """The one thing of several beyond which, or level with which, there is none of the others."""
    near, far = (axis, axis + 2) if sign > 0 else (axis + 2, axis)
    if len(like) < 2:
        return None
    last, *others = sorted(like, key=lambda each: -sign * each.box[near])
    beyond = max(sign * each.box[far] for each in others) - _SHARED_PX
    return last if sign * last.box[near] >= beyond else None


def _alone_in(page: SeenPage, like: Sequence[Thing], column: int, row: int) -> Thing | None:
    """The one thing in a cell of the picture where no other reaches into it, or half a cell beyond it."""
    width, height = page.image.width_px / 3, page.image.height_px / 3
    left, top, right, bottom = column * width, row * height, (column + 1) * width, (row + 1) * height
    around = left - width / 2, top - height / 2, right + width / 2, bottom + height / 2
    near = [each for each in like if _overlap(each.box, around)]
    return near[0] if len(near) == 1 and within(near[0].box, (left, top, right, bottom)) else None


def box_around(page: SeenPage, letters: Sequence[Box]) -> tuple[int, int, int, int] | None:
    """The smallest box on the grid, where rounding leaves it as it is, that holds a text and no other letter.

    Args:
        letters: each its place; one at least.
    """
    last_x, last_y = ((side - 1) // GRID_PX * GRID_PX for side in (page.image.width_px, page.image.height_px))
    box = (
        int(max(0.0, min(each[0] for each in letters))) // GRID_PX * GRID_PX,
        int(max(0.0, min(each[1] for each in letters))) // GRID_PX * GRID_PX,
        min(last_x, int(-(-max(each[2] for each in letters) // GRID_PX) * GRID_PX)),
        min(last_y, int(-(-max(each[3] for each in letters) // GRID_PX) * GRID_PX)),
    )
    return box if {each.box for each in page.characters if within(each.box, box)} == set(letters) else None


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
