from __future__ import annotations

from typing import Any

import pytest

from deskhand_sandbox.errors import CommandHung, SandboxTimeout, VerifierError
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import JsonValue, Observation, VerifierSpec


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


class Hangs:
    """Of a desktop whose agent left a pipe where a file should be; or which does not answer itself."""

    kind = "desktop"

    def __init__(self, error: Exception) -> None:
        self.error, self.asked = error, list[str]()

    async def evaluate(self, expression: str) -> JsonValue:
        self.asked.append(expression)
        raise self.error

    async def observe(self) -> Observation:
        return Observation(screenshot=as_image(b"", (8, 8)), captured_at_s=1.0, settled_ms=0.0)


COMMAND = {"type": "vm_command_line", "command": ["cat", "score"]}
RIGHT = {"type": "rule", "rules": {"expected": "1"}}
EVALUATOR = {"func": "exact_match", "result": COMMAND, "expected": RIGHT}
READING: list[tuple[str, dict[str, Any]]] = [
    ("expression", {"expression": "cat score"}),
    ("checks", {"checks": {"it is right": "cat score", "and fast": "cat speed"}}),
    ("answer", {"expression": "cat score"}),
    ("osworld", {"evaluator": EVALUATOR}),
]


@pytest.mark.parametrize(("name", "settings"), READING)
async def test_what_the_agent_left_to_hang_a_command_has_not_succeeded(
    name: str, settings: dict[str, Any]
) -> None:
    verifier = create_verifier(VerifierSpec(name=name, settings=settings))
    hangs: Any = Hangs(CommandHung("bash did not end in 20 s, while another command did"))
    outcome = await verifier.score(hangs, answer="1")
    assert (outcome.score, outcome.success) == (0.0, False)
    assert "did not end in 20 s" in outcome.detail
    # nor is anything else waited for
    assert len(hangs.asked) == 1
    silent: Any = Hangs(SandboxTimeout("the desktop does not answer"))
    with pytest.raises(SandboxTimeout):
        await verifier.score(silent, answer="1")
