"""Shapes, letters and digits that a page draws in SVG, told apart by size, colour and what they are.

Their descriptions are put together as MiniWoB++ does: "the small red triangle", "the blue letter", "the large
item".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from deskhand_sandbox.tasks.generated import Description, Thing
from deskhand_sandbox.tasks.layout import ElementBox

LARGER = 1.5
"""Times as high as the lowest shape of a page: large; the others are small then."""
_SHAPES = {"circle": "circle", "rect": "rectangle"}
_TRIANGLE = "triangle"


def is_shape(element: ElementBox) -> bool:
    """Whether it is a filled shape, or a single letter or digit, of a drawing."""
    return bool(element.fill.isalpha() and _what(element))


def shapes(elements: Sequence[ElementBox]) -> tuple[Thing, ...]:
    """Those that can be clicked and of which something can be said that fits no other."""
    drawn = [each for each in elements if is_shape(each) and each.point is not None]
    heights = [each.box[3] - each.box[1] for each in drawn]
    differ = bool(heights) and max(heights) > LARGER * min(heights)
    sizes = [("large" if height > LARGER * min(heights) else "small") if differ else "" for height in heights]
    words = [_words(each, size) for each, size in zip(drawn, sizes, strict=True)]
    often = Counter(each for found in words for each in found)
    things = (
        _thing(element, [each for each in found if often[each] == 1])
        for element, found in zip(drawn, words, strict=True)
    )
    return tuple(thing for thing in things if thing.descriptions)


def _what(element: ElementBox) -> str:
    """Its shape, or the letter or digit; empty for anything else."""
    if element.tag == "text":
        return element.text if len(element.text) == 1 and element.text.isalnum() else ""
    return _TRIANGLE if element.kind == _TRIANGLE else _SHAPES.get(element.tag, "")


def _sort(element: ElementBox) -> str:
    if element.tag != "text":
        return "shape"
    return "digit" if element.text.isdigit() else "letter"


def _words(element: ElementBox, size: str) -> list[str]:
    """All that can be said of it, more than that it is an item."""
    what = (_what(element), _sort(element), "item")
    said = product(dict.fromkeys((size, "")), (element.fill, ""), what)
    return [" ".join(part for part in each if part) for each in said if each != ("", "", "item")]


def _thing(element: ElementBox, words: Sequence[str]) -> Thing:
    assert element.point is not None
    sort, what = _sort(element), _what(element)
    says_letter = {each for each in words if sort != "shape" and each.split()[-1] == what}
    return Thing(
        role=sort,
        name=what,
        tone=element.fill,
        state="",
        value="",
        box=element.box,
        point=element.point,
        descriptions=tuple(
            Description(kind="text" if each in says_letter else "color", words=f"the {each}")
            for each in words
        ),
    )
