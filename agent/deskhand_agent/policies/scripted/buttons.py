"""Oracles for tasks of one kind of click: buttons, links, tabs, dialogs."""

from __future__ import annotations

import json

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Page, click
from deskhand_sandbox.types import Action

_AROUND_LINK = """
(name, selector) => [...document.querySelectorAll('.alink')]
  .find((link) => link.textContent.trim() === name).closest(selector)
"""


async def _only_button(page: Page) -> Action:
    return await page.click("#area button")


async def _numbered_button(page: Page) -> Action:
    (name,) = page.said(r"Click button (ONE|TWO)")
    return await page.click("#area button", text=name)


async def _quoted_button(page: Page) -> Action:
    (name,) = page.said(r'Click on the "(.*)" button')
    return await page.click("#area button", text=name)


async def _button_sequence(page: Page) -> Action:
    pushed = await page.evaluate("buttonsPushed.length")
    return await page.click("#subbtn" if pushed == 0 else "#subbtn2")


async def _dialog_button(page: Page) -> Action:
    (name,) = page.said(r'labeled "(.*)"')
    if name == "x":
        return await page.click(".ui-dialog-titlebar-close")
    return await page.click(".ui-dialog-buttonset button", text=name)


async def _link(page: Page) -> Action:
    (name,) = page.said(r'link "(.*)"')
    return await page.click(".alink", text=name)


async def _tab(page: Page) -> Action:
    (number,) = page.said(r"Tab #(\d)")
    return await page.click(f"a[href='#tabs-{number}']")


async def _link_in_tabs(page: Page) -> Action:
    """Go to the tab that holds the link, then click it; an empty tab is where a missing link has been."""
    (name,) = page.said(r'link "(.*)"')
    links = [each for each in await page.all(".alink") if each.text == name]
    if not links:
        return await page.click(".ui-tab:not(.ui-tabs-active) a")
    for link in links:
        if link.point is not None:
            return click(link)
    panel = await page.evaluate(f"({_AROUND_LINK})({json.dumps(name)}, '.ui-tabs-panel').id")
    return await page.click(f"a[href='#{panel}']")


async def _link_in_sections(page: Page) -> Action:
    """Open the section that holds the link, then click it."""
    (name,) = page.said(r'link "(.*)"')
    links = [each for each in await page.all(".alink") if each.text == name]
    for link in links:
        if link.point is not None:
            return click(link)
    section = await page.evaluate(
        f"({_AROUND_LINK})({json.dumps(name)}, '.ui-accordion-content').getAttribute('aria-labelledby')"
    )
    header = await page.one(f"#{section}")
    if "ui-state-active" in header.classes:
        raise OracleError(f"the section of link {name!r} is open and the link does not show")
    return click(header)


async def _collapsible(page: Page) -> Action:
    header = await page.one(".ui-accordion-header")
    if "ui-state-active" in header.classes:
        return await page.click("#subbtn")
    return click(header)


ORACLES = {
    "click-test": _only_button,
    "click-test-2": _numbered_button,
    "click-test-transfer": _numbered_button,
    "click-button": _quoted_button,
    "unicode-test": _quoted_button,
    "click-button-sequence": _button_sequence,
    "click-dialog-2": _dialog_button,
    "click-link": _link,
    "click-tab": _tab,
    "click-tab-2": _link_in_tabs,
    "click-tab-2-easy": _link_in_tabs,
    "click-tab-2-medium": _link_in_tabs,
    "click-tab-2-hard": _link_in_tabs,
    "click-collapsible": _collapsible,
    "click-collapsible-nodelay": _collapsible,
    "click-collapsible-2": _link_in_sections,
    "click-collapsible-2-nodelay": _link_in_sections,
}
