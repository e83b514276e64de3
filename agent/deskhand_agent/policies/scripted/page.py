"""What an oracle sees of a page: elements with a point where a click reaches them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from deskhand_agent.errors import OracleError
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import Action, Click, JsonValue, Press, TypeText

_READ = """
((selector) => {
  const STEPS = 12;
  const reaches = (element, x, y) => {
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
    const hit = document.elementFromPoint(x, y);
    return hit !== null && (hit === element || element.contains(hit));
  };
  const nearCentre = (element) => {
    const boxes = [...element.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
    if (boxes.length === 0) return null;
    const area = (box) => box.width * box.height;
    const box = boxes.reduce((best, next) => area(next) > area(best) ? next : best);
    const centre = [box.left + box.width / 2, box.top + box.height / 2];
    const points = [];
    for (let column = 0; column <= STEPS; column++) {
      for (let row = 0; row <= STEPS; row++) {
        const x = Math.round(box.left + 1 + (box.width - 2) * column / STEPS);
        const y = Math.round(box.top + 1 + (box.height - 2) * row / STEPS);
        points.push([Math.hypot(x - centre[0], y - centre[1]), x, y]);
      }
    }
    points.sort((a, b) => a[0] - b[0]);
    const found = points.find(([, x, y]) => reaches(element, x, y));
    return found === undefined ? null : [found[1], found[2]];
  };
  return [...document.querySelectorAll(selector)].map((element) => {
    const box = element.getBoundingClientRect();
    const value = 'value' in element ? String(element.value) : '';
    return {
      tag: element.tagName.toLowerCase(),
      text: (element.textContent || '').trim(),
      point: nearCentre(element),
      box: [box.left, box.top, box.width, box.height],
      value: value,
      checked: element.checked === true,
      focused: document.activeElement === element,
      selected: value !== '' && element.selectionStart === 0 && element.selectionEnd === value.length,
      attributes: Object.fromEntries([...element.attributes].map((each) => [each.name, each.value])),
    };
  });
})(%s)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Element:
    """One element of the page."""

    tag: str
    text: str
    """Its text content, trimmed."""
    point: tuple[int, int] | None
    """The pixel nearest its centre where a click reaches it; None when it is hidden or covered."""
    box: tuple[float, float, float, float]
    """Left, top, width, height in pixels."""
    value: str
    """What a field holds; empty for others."""
    checked: bool
    focused: bool
    selected: bool
    """The field's whole text is selected: typing replaces it."""
    attributes: Mapping[str, str]

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(self.attributes.get("class", "").split())


class Page:
    """The page in front, read through the sandbox."""

    def __init__(self, sandbox: Sandbox, instruction: str, *, turn: int) -> None:
        self._sandbox = sandbox
        self.instruction = instruction
        self.turn = turn
        """Turns taken so far."""

    async def evaluate(self, expression: str) -> JsonValue:
        """The value of a JavaScript expression in the page.

        Raises:
            OracleError: it failed there: the page is not the one the oracle expects.
        """
        try:
            return await self._sandbox.evaluate(expression)
        except VerifierError as error:
            raise OracleError(f"the page is not as expected: {error}") from error

    async def all(self, selector: str) -> list[Element]:
        """Every element the CSS selector matches, in document order."""
        found = await self.evaluate(_READ % json.dumps(selector))
        return [_element(record) for record in cast("list[dict[str, JsonValue]]", found)]

    async def one(self, selector: str, *, text: str | None = None) -> Element:
        """The first match that a click reaches, or the first match at all; with exactly this text if given.

        Raises:
            OracleError: there is none.
        """
        matches = [each for each in await self.all(selector) if text is None or each.text == text]
        reachable = [each for each in matches if each.point is not None]
        if not matches:
            raise OracleError(f"nothing matches {selector!r}{f' with text {text!r}' if text else ''}")
        return (reachable or matches)[0]

    async def click(self, selector: str, *, text: str | None = None) -> Action:
        """A click on that element."""
        return click(await self.one(selector, text=text))

    async def fill(self, selector: str, text: str) -> Action | None:
        """The next action towards the field holding exactly this text; None when it does."""
        field = await self.one(selector)
        if field.value == text:
            return None
        if not field.focused:
            return click(field)
        if field.value and not field.selected:
            return Press(keys=("Control", "a"))
        return TypeText(text=text)

    def said(self, pattern: str) -> tuple[str, ...]:
        """The groups of a regular expression found in the instruction.

        Raises:
            OracleError: the instruction does not match.
        """
        match = re.search(pattern, self.instruction, re.DOTALL)
        if match is None:
            raise OracleError(f"the instruction {self.instruction!r} does not match {pattern!r}")
        return match.groups()


def click(element: Element) -> Action:
    """A click where it reaches the element.

    Raises:
        OracleError: it is hidden, covered or off the screen.
    """
    if element.point is None:
        raise OracleError(
            f"no click can reach the {element.tag} {element.text!r}: hidden, covered or off the screen"
        )
    x, y = element.point
    return Click(x=x, y=y)


def _element(record: dict[str, JsonValue]) -> Element:
    point = cast("list[int] | None", record["point"])
    left, top, width, height = cast("list[float]", record["box"])
    return Element(
        tag=str(record["tag"]),
        text=str(record["text"]),
        point=None if point is None else (point[0], point[1]),
        box=(left, top, width, height),
        value=str(record["value"]),
        checked=record["checked"] is True,
        focused=record["focused"] is True,
        selected=record["selected"] is True,
        attributes=cast("dict[str, str]", record["attributes"]),
    )
