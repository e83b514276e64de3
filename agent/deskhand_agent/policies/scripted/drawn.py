"""Oracles for the tasks of the fake sandbox, whose screen is drawn."""

from __future__ import annotations

from typing import cast

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Page
from deskhand_sandbox.types import Action, Click


async def _press_in_order(page: Page) -> Action:
    """Press the next of the named buttons in the middle."""
    (names,) = page.said(r"Press (.*)\.")
    pressed = cast("list[str]", await page.evaluate("pressed"))
    wanted = names.split(", then ")
    if pressed != wanted[: len(pressed)] or len(pressed) == len(wanted):
        raise OracleError(f"{pressed} were pressed where {wanted} are wanted")
    boxes = cast("dict[str, list[int]]", await page.evaluate("buttons"))
    left, top, right, bottom = boxes[wanted[len(pressed)]]
    return Click(x=(left + right) // 2, y=(top + bottom) // 2)


ORACLES = {"press-button": _press_in_order, "press-in-order": _press_in_order}
