from __future__ import annotations

import pytest

from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import JsonValue, VerifierSpec


class Says:
    """Of a sandbox, what the verifier asks for."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value

    async def evaluate(self, _: str) -> JsonValue:
        return self.value


EXPRESSION = create_verifier(VerifierSpec(name="expression", settings={"expression": "cat score"}))


@pytest.mark.parametrize(("value", "score"), [(True, 1), (None, 0), (False, 0), (0.25, 0.25), (1, 1)])
async def test_a_value_is_a_score(value: JsonValue, score: float) -> None:
    outcome = await EXPRESSION.score(Says(value), answer=None)
    assert (outcome.score, outcome.success) == (score, score == 1)


@pytest.mark.parametrize("value", [1.5, -1, 10**400, float("nan"), "x" * 10**6])
async def test_what_is_none_is_told_in_short(value: JsonValue) -> None:
    with pytest.raises(VerifierError, match=r"not a number|not true") as told:
        await EXPRESSION.score(Says(value), answer=None)
    assert len(str(told.value)) < 300
