"""What the verifier makes of what a MiniWoB++ page says; real pages are in `tasks/test_miniwob.py`."""

from __future__ import annotations

from typing import Any

import pytest

from deskhand_sandbox.base import RewardingVerifier
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.types import JsonValue, StepReward, VerifierSpec


class Says:
    """Of a sandbox, what the verifier asks for."""

    def __init__(self, value: JsonValue) -> None:
        self.value = value

    async def evaluate(self, _: str) -> JsonValue:
        return self.value


def verifier() -> RewardingVerifier:
    made = create_verifier(VerifierSpec(name="miniwob"))
    assert isinstance(made, RewardingVerifier)
    return made


@pytest.mark.parametrize("reward", [None, float("nan"), float("inf"), float("-inf")])
async def test_a_page_that_ends_without_a_number_was_answered_wrong(reward: JsonValue) -> None:
    ended: Any = Says([True, reward, None])
    assert await verifier().step_reward(ended) == StepReward(reward=-1.0, terminated=True)
    outcome = await verifier().score(ended, answer=None)
    assert (outcome.score, outcome.success) == (0.0, False)
    assert outcome.detail == "raw reward -1: the page ended the task with a reward that is no number"


@pytest.mark.parametrize("value", [[False, None, None], [True, "1", None], [True, 1], "done"])
async def test_what_is_no_verdict_is_refused(value: JsonValue) -> None:
    says: Any = Says(value)
    for asked in (verifier().step_reward(says), verifier().score(says, answer=None)):
        with pytest.raises(VerifierError, match="instead of done, reward and reason"):
            await asked
