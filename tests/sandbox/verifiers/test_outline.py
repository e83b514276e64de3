"""The outline of a screen, read, and the verifier that judges by it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_sandbox.accessibility.outline import Node, read_outline
from deskhand_sandbox.backends.browser.quoting import quoted
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import JsonValue, VerifierSpec
from deskhand_sandbox.verifiers.osworld.metrics.trees import elements_of
from deskhand_sandbox.verifiers.outline import read_condition

OUTLINE = """\
RootWebArea "page" (224, 224)
  radio "On" [checked] (16, 15)
  textbox "A \\"name\\"" value="nama" (63, 113)
  checkbox "Off" [disabled] [off the screen]
  textbox (137, 224)
not a line = of an outline
"""


def test_an_outline_is_read_line_by_line() -> None:
    root, on, field, off, bare = read_outline(OUTLINE)
    assert root == Node(role="RootWebArea", name="page", value="", states=frozenset(), point=(224, 224))
    assert (on.states, on.point) == ({"checked"}, (16, 15))
    assert (field.name, field.value) == ('A "name"', "nama")
    assert (off.states, off.point) == ({"disabled", "off the screen"}, None)
    assert (bare.role, bare.name, bare.value) == ("textbox", "", "")


def test_a_name_or_a_value_may_hold_control_characters() -> None:
    name, value = "a\x01b", "c\x1b[0m"
    text = f"button {quoted(name)} value={quoted(value)} (1, 2)"
    assert [(each.name, each.value) for each in read_outline(text)] == [(name, value)]
    assert [each.text for each in elements_of(text)] == [value]


async def verdict(outline: str | None, *conditions: JsonValue) -> tuple[bool, str]:
    async def observe(*, text_tree: bool) -> Any:
        assert text_tree
        return SimpleNamespace(text_tree=outline, url=None)

    verifier = create_verifier(VerifierSpec(name="outline", settings={"conditions": [*conditions]}))
    sandbox: Any = SimpleNamespace(kind="fake", observe=observe)
    outcome = await verifier.score(sandbox, answer=None)
    assert outcome.success == (outcome.score == 1.0)
    return outcome.success, outcome.detail


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"role": "radio", "name": "On"}, True),
        ({"role": "radio", "name": "On", "has": ["checked"]}, True),
        ({"role": "radio", "name": "On", "has_not": ["checked"]}, False),
        ({"role": "checkbox", "name": "Off", "has_not": ["checked"]}, True),
        ({"role": "textbox", "name": 'A "name"', "value": "nama"}, True),
        ({"role": "textbox", "name": 'A "name"', "value": ""}, False),
        ({"role": "textbox", "name": "", "value": ""}, True),
        ({"role": "button", "name": "On"}, False),
    ],
)
async def test_a_thing_is_as_it_should_be_or_not(condition: JsonValue, holds: bool) -> None:
    assert (await verdict(OUTLINE, condition))[0] is holds
    assert (await verdict(OUTLINE, {"role": "radio", "name": "On"}, condition))[0] is holds


async def test_the_verdict_names_what_is_not_so() -> None:
    wrong: JsonValue = {"role": "button", "name": "Send"}
    assert await verdict(OUTLINE, wrong) == (False, "not as it should be: button 'Send'")
    with pytest.raises(VerifierError, match="no outline"):
        await verdict(None, wrong)


async def test_a_page_of_another_host_is_not_judged() -> None:
    settings: dict[str, JsonValue] = {
        "conditions": [{"role": "radio", "name": "On"}],
        "host": "pages.localhost",
    }
    verifier = create_verifier(VerifierSpec(name="outline", settings=settings))

    async def score(url: str | None) -> float:
        async def observe(*, text_tree: bool) -> Any:
            return SimpleNamespace(text_tree=OUTLINE, url=url)

        sandbox: Any = SimpleNamespace(kind="browser", observe=observe)
        return (await verifier.score(sandbox, answer=None)).score

    assert await score("http://pages.localhost/generated/page.html") == 1.0
    for other in ("data:text/html,pages.localhost", "http://elsewhere.localhost/", "about:blank", None):
        assert await score(other) == 0.0


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        (None, "at least one"),
        ([], "at least one"),
        (["radio"], "is a mapping"),
        ([{"role": "radio"}], "role and name"),
        ([{"role": "radio", "name": 3}], "as text"),
        ([{"role": "radio", "name": "a", "value": 3}], "as text"),
        ([{"role": "radio", "name": "a", "state": "on"}], "no 'state'"),
        ([{"role": "radio", "name": "a", "has": "checked"}], "list of states"),
    ],
)
def test_conditions_that_are_none_are_refused(conditions: JsonValue, said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        create_verifier(VerifierSpec(name="outline", settings={"conditions": conditions}))


def test_settings_come_back_as_they_were() -> None:
    told: dict[str, JsonValue] = {
        "role": "radio",
        "name": "On",
        "value": "",
        "has": ["a"],
        "has_not": ["b", "c"],
    }
    assert read_condition(told).settings() == told
    assert read_condition({"role": "r", "name": ""}).settings() == {"role": "r", "name": ""}
