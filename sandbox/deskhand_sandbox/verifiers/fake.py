"""The verdict of the fake sandbox: its state machine knows whether the goal was reached."""

from __future__ import annotations

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.types import Outcome, StepReward
from deskhand_sandbox.verifiers.values import flag


class FakeVerifier:
    """Success when the goal was reached; pressing a wrong button ends the episode with nothing."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The state's verdict; what the agent said plays no part."""
        done, success = await _flag(sandbox, "done"), await _flag(sandbox, "success")
        detail = "the goal was reached" if success else "a wrong button" if done else "not finished"
        return Outcome(score=float(success), success=success, detail=detail)

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """1 for reaching the goal."""
        success = await _flag(sandbox, "success")
        return StepReward(reward=float(success), terminated=await _flag(sandbox, "done"))


async def _flag(sandbox: Sandbox, name: str) -> bool:
    return flag(await sandbox.evaluate(name), f"the fake sandbox's {name}")


def create() -> RewardingVerifier:
    """The verifier `fake`; it has no settings."""
    return FakeVerifier()
