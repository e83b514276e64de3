"""The verdict of a world: it knows whether what is to be done is done."""

from __future__ import annotations

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.types import Outcome, StepReward
from deskhand_sandbox.verifiers.values import flag, number


class WorldVerifier:
    """Success when the world is won; the score is how much of it is done, and moves have rewards."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The state's verdict; what the agent said plays no part."""
        done, won = await _flag(sandbox, "done"), await _flag(sandbox, "won")
        state = "won" if won else "lost" if done else "not finished"
        return Outcome(score=await _number(sandbox, "score"), success=won, detail=state)

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """What was earned since the last call."""
        return StepReward(reward=await _number(sandbox, "reward"), terminated=await _flag(sandbox, "done"))


async def _flag(sandbox: Sandbox, name: str) -> bool:
    return flag(await sandbox.evaluate(name), f"the world's {name}")


async def _number(sandbox: Sandbox, name: str) -> float:
    return number(await sandbox.evaluate(name), f"the world's {name}")


def create() -> RewardingVerifier:
    """The verifier `world`; it has no settings."""
    return WorldVerifier()
