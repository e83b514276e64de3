"""What a sandbox's values are where a verifier needs a flag or a number."""

from __future__ import annotations

import pytest

from deskhand_sandbox.base import RewardingVerifier
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.registry import create_backend, create_verifier
from deskhand_sandbox.types import JsonValue, VerifierSpec
from deskhand_sandbox.verifiers.values import flag, number


def test_what_is_a_flag_and_what_a_number() -> None:
    assert flag(True, "it") is True and flag(False, "it") is False
    assert (number(3, "it"), number(-0.5, "it")) == (3.0, -0.5)
    for other in (None, 0, 1, "true", []):
        with pytest.raises(VerifierError, match=r"the page's end is .* where yes or no was expected"):
            flag(other, "the page's end")
    for other in (None, True, "1", [], float("nan"), float("inf"), float("-inf"), 10**400):
        with pytest.raises(VerifierError, match=r"the page's score is .* where a number was expected"):
            number(other, "the page's score")


@pytest.mark.parametrize(
    ("verifier", "answer", "score", "reward"),
    [
        ("world", None, "the world's done is None", "the world's reward is None"),
        ("fake", 1, "the fake sandbox's done is 1", "the fake sandbox's success is 1"),
        ("game", [True, True, None], "the game's score is None", "not 2 values"),
        ("game", [True, "x"], "not 3 values", "the game's reward is 'x'"),
    ],
)
async def test_a_verifier_says_what_it_cannot_judge(
    monkeypatch: pytest.MonkeyPatch, verifier: str, answer: JsonValue, score: str, reward: str
) -> None:
    sandbox = await create_backend("fake").create()

    async def answers(expression: str) -> JsonValue:
        return answer

    monkeypatch.setattr(sandbox, "evaluate", answers)
    made = create_verifier(VerifierSpec(name=verifier))
    assert isinstance(made, RewardingVerifier)
    with pytest.raises(VerifierError, match=score):
        await made.score(sandbox, answer=None)
    with pytest.raises(VerifierError, match=reward):
        await made.step_reward(sandbox)
