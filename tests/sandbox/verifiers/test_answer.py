from __future__ import annotations

from typing import Any

import pytest

from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.answer import create


@pytest.mark.parametrize(
    ("settings", "answer", "right"),
    [
        ({"expected": "Elm Street"}, " elm  street. ", True),
        ({"expected": "Elm Street"}, "Elm", False),
        ({"expected": "Elm", "match": "holds"}, "It is Elm, I think", True),
        ({"expected": 15846, "match": "number"}, "The result is 15,846.", True),
        ({"expected": "15846", "match": "number"}, "15846.0", True),
        ({"expected": "15846", "match": "number"}, "15 or 15846", False),
        ({"expected": "15846", "match": "number"}, "many", False),
        ({"expected": "a"}, None, False),
        ({"expression": "turn"}, "0", True),
        ({"expression": "turn", "match": "number"}, "it is 0", True),
    ],
)
async def test_answers(settings: dict[str, Any], answer: str | None, right: bool) -> None:
    async with await create_backend("fake").create() as sandbox:
        await sandbox.reset(make_task("fake/press-button", 1))
        if "expression" in settings:
            known = await sandbox.evaluate("done")
            assert known is False
            settings = {**settings, "expression": "done"}
            with pytest.raises(VerifierError, match="not text or a number"):
                await create(**settings).score(sandbox, answer=answer)
            return
        outcome = await create(**settings).score(sandbox, answer=answer)
        assert (outcome.success, outcome.score) == (right, float(right))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"expected": "a", "expression": "b"},
        {"expected": "a", "match": "close"},
        {"expected": "many", "match": "number"},
        {"expected": ""},
        {"expected": " . ", "match": "holds"},
        {"expression": 3},
        {"expected": True},
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask):
        create(**settings)


class Page(FakeSandbox):
    """A sandbox whose page gives a text."""

    def __init__(self, text: str) -> None:
        super().__init__({})
        self._text = text

    async def evaluate(self, expression: str) -> JsonValue:
        return self._text


@pytest.mark.parametrize("match", ["text", "number", "holds"])
@pytest.mark.parametrize("gives", ["", " \n"])
async def test_no_answer_is_right_where_the_page_gives_none(match: str, gives: str) -> None:
    verifier = create(expression="document.title", match=match)
    for answer in ("", "no idea, 7"):
        outcome = await verifier.score(Page(gives), answer=answer)
        assert (outcome.success, outcome.score) == (False, 0)


async def test_a_number_is_read_from_the_page() -> None:
    verifier = create(expression="document.title", match="number")
    assert (await verifier.score(Page("12.50\n"), answer="It costs $12.5")).success
    for answer in ("12", "many"):
        with pytest.raises(VerifierError, match=r"gave '\$12.00', not a number"):
            await verifier.score(Page("$12.00"), answer=answer)
