"""Oracles for tasks of drawn shapes, colours and grids."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Element, Page, click
from deskhand_sandbox.types import Action

_LARGE_PX = 20
_TAGS = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shape:
    """A drawn shape in the words of the instruction."""

    size: str
    color: str
    kind: str
    """letter, digit or shape"""
    name: str
    """circle, rectangle, triangle, or the character itself"""
    element: Element

    def matches(self, description: str) -> bool:
        """Whether "large red item" is said of it."""
        *adjectives, noun = description.split(" ")
        return noun in ("item", self.kind, self.name) and all(
            adjective in (self.size, self.color) for adjective in adjectives
        )


async def _shapes(page: Page) -> list[_Shape]:
    return [_shape(each) for each in await page.all("#area_svg > *")]


def _shape(element: Element) -> _Shape:
    drawn = element.attributes
    if element.tag == "text":
        kind, name = ("digit" if element.text.isdigit() else "letter"), element.text
        size = float(drawn["font-size"].removesuffix("px"))
    else:
        kind, name = "shape", _TAGS[element.tag]
        size = element.box[2]
    return _Shape(
        size="large" if size > _LARGE_PX - 5 else "small",
        color=drawn["fill"],
        kind=kind,
        name=name,
        element=element,
    )


async def _click_shape(page: Page) -> Action:
    (description,) = page.said(r"Click on a (.*)")
    matching = [each for each in await _shapes(page) if each.matches(description)]
    for shape in matching:
        if shape.element.point is not None:
            return click(shape.element)
    raise OracleError(f"no {description!r} among the shapes can be clicked")


async def _count_shape(page: Page) -> Action:
    (description,) = page.said(r"How many (.*)s are there")
    count = sum(each.matches(description) for each in await _shapes(page))
    return await page.click("#count-buttons button", text=str(count))


async def _identify_shape(page: Page) -> Action:
    (shape,) = await _shapes(page)
    return await page.click(f"button[data-type='{shape.name if shape.kind == 'shape' else shape.kind}']")


async def _click_color(page: Page) -> Action:
    (color,) = page.said(r"Click on the (\w+) colored box")
    return await page.click(f"#area .color[data-color='{color}']")


async def _grid(page: Page) -> Action:
    (coordinate,) = page.said(r"(\(-?\d,-?\d\))")
    return await page.click(f"circle[id='{coordinate}']")


async def _ascending(page: Page) -> Action:
    """The number 1 hides the others behind squares, which stay in the order of their numbers."""
    numbers = await page.all("#area_svg text")
    if numbers:
        return await page.click("#area_svg text", text="1")
    squares = await page.all("#area_svg rect")
    if not squares:
        raise OracleError("neither numbers nor squares are left")
    return click(min(squares, key=lambda square: int(re.sub(r"\D", "", square.attributes["data-index"]))))


ORACLES = {
    "click-shape": _click_shape,
    "count-shape": _count_shape,
    "identify-shape": _identify_shape,
    "click-color": _click_color,
    "grid-coordinate": _grid,
    "ascending-numbers": _ascending,
}
