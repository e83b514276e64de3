from __future__ import annotations

from typing import Any

import pytest

from deskhand_agent.errors import OracleError
from deskhand_agent.policies.scripted.page import Page, click
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxDied, VerifierError
from deskhand_sandbox.types import Click, DeviceAction, JsonValue, Observation, Press, Start, Task, TypeText


def record(**fields: Any) -> dict[str, Any]:
    return {
        "tag": "input",
        "text": "",
        "point": [5, 6],
        "box": [0, 0, 10, 12],
        "value": "",
        "checked": False,
        "focused": False,
        "selected": False,
        "attributes": {"class": "a b", "id": "tt"},
    } | fields


class FixedPage(Sandbox):
    """Answers every question about the page with the same records, or the same error."""

    id, kind = "fixed", "fixed"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def evaluate(self, expression: str) -> JsonValue:
        self.asked.append(expression)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def reset(self, task: Task) -> Start:
        raise NotImplementedError

    async def observe(self, *, text_tree: bool = False) -> Observation:
        raise NotImplementedError

    async def act(self, action: DeviceAction) -> Observation:
        raise NotImplementedError

    async def close(self) -> None: ...


def page(*records: dict[str, Any], says: str = "") -> Page:
    return Page(FixedPage(list(records)), says, turn=0)


async def test_elements_are_read_as_records() -> None:
    (element,) = await page(record(checked=True)).all("#tt")
    assert (element.tag, element.point, element.box, element.checked) == (
        "input",
        (5, 6),
        (0, 0, 10, 12),
        True,
    )
    assert element.classes == {"a", "b"}


async def test_selectors_are_quoted() -> None:
    sandbox = FixedPage([])
    await Page(sandbox, "", turn=0).all("a[href='#x'] \"y\"")
    assert sandbox.asked[0].rstrip().endswith(r"""("a[href='#x'] \"y\"")""")


async def test_the_first_element_a_click_reaches_is_chosen() -> None:
    found = await page(record(point=None, text="x"), record(point=[1, 1], text="y"), record(text="x")).one(
        "a", text="x"
    )
    assert found.point == (5, 6)


async def test_nothing_found_or_nothing_reachable_is_an_oracle_error() -> None:
    with pytest.raises(OracleError, match="nothing matches '#gone'"):
        await page().one("#gone")
    with pytest.raises(OracleError, match="hidden, covered or off the screen"):
        await page(record(point=None)).click("#tt")


@pytest.mark.parametrize(
    ("state", "action"),
    [
        ({"value": "Ada"}, None),
        ({"value": ""}, Click(x=5, y=6)),
        ({"value": "", "focused": True}, TypeText(text="Ada")),
        ({"value": "Bob"}, Click(x=5, y=6)),
        ({"value": "Bob", "focused": True}, Press(keys=("Control", "a"))),
        ({"value": "Bob", "focused": True, "selected": True}, TypeText(text="Ada")),
    ],
)
async def test_a_field_is_filled_whatever_is_in_it(state: dict[str, Any], action: Any) -> None:
    assert await page(record(**state)).fill("#tt", "Ada") == action


def test_the_instruction_is_taken_apart_or_refused() -> None:
    assert page(says='Click "a"\nnow').said(r'"(.*)"') == ("a",)
    with pytest.raises(OracleError, match="does not match"):
        page(says="Something else").said(r'"(.*)"')


async def test_a_page_that_is_another_one_is_an_oracle_error() -> None:
    with pytest.raises(OracleError, match="not as expected"):
        await Page(FixedPage(VerifierError("x is undefined")), "", turn=0).evaluate("x")


async def test_a_dead_sandbox_stays_one() -> None:
    with pytest.raises(SandboxDied):
        await Page(FixedPage(SandboxDied("gone")), "", turn=0).evaluate("x")


async def test_a_click_is_where_it_reaches_the_element() -> None:
    (element,) = await page(record()).all("x")
    assert click(element) == Click(x=5, y=6)
