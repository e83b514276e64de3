"""Oracles for tasks of boxes to tick, lists to choose from, and trees."""

from __future__ import annotations

import json

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Page, click
from deskhand_sandbox.types import Action, TypeText


async def _option(page: Page) -> Action:
    (name,) = page.said(r"Select (.*) and click Submit")
    return await _tick(page, {name})


async def _checkboxes(page: Page) -> Action:
    (names,) = page.said(r"Select (.*) and click Submit")
    return await _tick(page, set() if names == "nothing" else set(names.split(", ")))


async def _tick(page: Page, wanted: set[str]) -> Action:
    """Tick exactly the boxes with these labels, from the top, then submit."""
    labels = await page.all("#area label")
    boxes = await page.all("#area label input")
    for label, box in zip(labels, boxes, strict=True):
        if box.checked != (label.text in wanted):
            if box.attributes["type"] == "radio" and box.checked:
                continue  # goes out by itself when the right one is chosen
            return click(box)
    return await page.click("#subbtn")


async def _widget(page: Page) -> Action:
    (kind,) = page.said(r'Click on a "(.*)" widget')
    return await page.click(f"[data-type='{kind}']")


async def _choose_list(page: Page) -> Action:
    """Focus the list, type the name, and take it: the open list itself is drawn outside the page."""
    (name,) = page.said(r"Select (.*) from the list")
    field = await page.one("#options")
    chosen = await page.evaluate(
        "(() => { const list = document.querySelector('#options');"
        " return list.options[list.selectedIndex].textContent.trim(); })()"
    )
    if chosen == name:
        return await page.click("#area button")
    return TypeText(text=f"{name}\n") if field.focused else click(field)


async def _odd_or_even(page: Page) -> Action:
    numbers = await page.all(".display-number")
    odds, evens = await page.all("button.odd"), await page.all("button.even")
    for number, odd, even in zip(numbers, odds, evens, strict=True):
        right = odd if int(number.text) % 2 else even
        if "selected" not in right.classes:
            return click(right)
    return await page.click("#submit")


async def _tree(page: Page) -> Action:
    """Click the named entry, or open the outermost folder that hides it."""
    (name,) = page.said(r'named "(.*)"')
    for entry in await page.all("#tree span"):
        if entry.text == name and entry.point is not None:
            return click(entry)
    outermost = await page.evaluate(f"({_OUTERMOST_CLOSED})({json.dumps(name)})")
    if not isinstance(outermost, int) or outermost < 0:
        raise OracleError(f"no closed folder holds {name!r}")
    return click((await page.all("#tree span"))[outermost])


_OUTERMOST_CLOSED = """
(name) => {
  const spans = [...document.querySelectorAll('#tree span')];
  const path = [];
  let item = spans.find((span) => span.textContent.trim() === name).closest('li');
  for (; item; item = item.parentElement.closest('#tree li')) path.unshift(item);
  const closed = path.find((each) => each.classList.contains('expandable'));
  return closed ? spans.indexOf(closed.querySelector('span')) : -1;
}
"""


ORACLES = {
    "click-option": _option,
    "click-checkboxes": _checkboxes,
    "click-checkboxes-large": _checkboxes,
    "click-checkboxes-transfer": _checkboxes,
    "click-widget": _widget,
    "choose-list": _choose_list,
    "odd-or-even": _odd_or_even,
    "navigate-tree": _tree,
}
