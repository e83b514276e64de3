"""Faults of accessibility that axe-core finds in a page as it stands in the browser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(__file__).parents[4] / "web_ui/node_modules/axe-core/axe.min.js"
"""Installed with the page's other development packages, by `npm ci`."""
SERIOUS = ("serious", "critical")
ASK = """async (levels) => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations
    .filter(({ impact }) => levels.includes(impact))
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.target}: ${node.failureSummary}`));
}"""


def serious(page: Page) -> list[str]:
    """Serious and critical faults, one line for each element that has one.

    Raises:
        FileNotFoundError: axe-core is not installed.
    """
    page.evaluate(_axe())
    return cast("list[str]", page.evaluate(ASK, cast(Any, list(SERIOUS))))


@cache
def _axe() -> str:
    return AXE.read_text()
