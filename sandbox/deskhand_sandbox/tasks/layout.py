"""What is where on a page, read from the page itself: for oracles and for teaching a model to see.

One evaluation gives every visible element and every visible character with its box in screenshot pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias, cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import VerifierError

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the screenshot, cut to the viewport."""

LAYOUT_SCRIPT = files("deskhand_sandbox.tasks").joinpath("layout.js").read_text()


@dataclass(frozen=True, kw_only=True, slots=True)
class ElementBox:
    """One visible element."""

    tag: str
    """Lower case: "button", "input", "span", "rect"."""
    kind: str
    """Its role, the type of an input ("text", "checkbox"), or "triangle"; empty for plain boxes."""
    text: str
    """Its own and its children's text with single spaces; at most 200 characters."""
    value: str
    """What a field holds, or the text of the chosen option; empty for others."""
    checked: bool
    """A checkbox or radio button that is on, an option that is chosen, a tab that is open."""
    focused: bool
    id: str
    classes: tuple[str, ...]
    fill: str
    """What a drawing in SVG says it is filled with, as in "red"; empty for others."""
    box: Box
    point: tuple[int, int] | None
    """A pixel near its centre where a click reaches it or something inside it; None when it is covered."""
    parent: int | None
    """Index of the nearest visible ancestor in `PageLayout.elements`; None for outermost ones."""
    clickable: bool
    """Made to be clicked: a link, button or field, or shown with a hand as pointer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterBox:
    """One visible character: of the page's text, or typed into a field."""

    character: str
    box: Box
    element: int | None
    """Index in `PageLayout.elements` of the element it belongs to; None when that is not visible."""
    word: int
    """Number of its word on the page: neighbours of one word share it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLayout:
    """Everything visible on a page."""

    size_px: tuple[int, int]
    elements: tuple[ElementBox, ...]
    """In document order: parents before children."""
    characters: tuple[CharacterBox, ...]
    """In reading order of the document, white space left out."""


async def page_layout(sandbox: Sandbox) -> PageLayout:
    """What is visible in the tab in front of a browser sandbox, in one evaluation.

    A field's characters (its value or placeholder) are measured with the field's own font; text a page draws
    on a canvas is not seen.

    Raises:
        UnsupportedCapability: a sandbox without `evaluate`.
        VerifierError: the page did not answer with a layout.
        InfrastructureError: the computer failed.
    """
    answer = await sandbox.evaluate(LAYOUT_SCRIPT)
    if not isinstance(answer, dict):
        raise VerifierError(f"the page answered {answer!r} instead of its layout")
    return _read(cast("dict[str, Any]", answer))


def _read(answer: dict[str, Any]) -> PageLayout:
    elements = tuple(
        ElementBox(
            tag=tag,
            kind=kind,
            text=text,
            value=value,
            checked=bool(flags & 1),
            focused=bool(flags & 2),
            clickable=bool(flags & 4),
            id=name,
            classes=tuple(classes.split()),
            fill=fill,
            box=tuple(box),
            point=None if point[0] < 0 else tuple(point),
            parent=None if parent < 0 else parent,
        )
        for tag, kind, text, value, flags, name, classes, fill, box, point, parent in answer["elements"]
    )
    characters = tuple(
        CharacterBox(
            character=character,
            box=(left, top, right, bottom),
            element=None if element < 0 else element,
            word=word,
        )
        for character, left, top, right, bottom, element, word in answer["characters"]
    )
    width, height = answer["size"]
    return PageLayout(size_px=(width, height), elements=elements, characters=characters)
