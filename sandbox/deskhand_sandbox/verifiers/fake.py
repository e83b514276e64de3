"""The verdict of the fake sandbox: its state machine knows whether the goal was reached."""

from __future__ import annotations

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import Outcome, StepReward


class FakeVerifier:
    """Success when the goal was reached; pressing a wrong button ends the episode with nothing."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The state's verdict; what the agent said plays no part."""
        done, success = await _read(sandbox)
        detail = "the goal was reached" if success else "a wrong button" if done else "not finished"
        return Outcome(score=float(success), success=success, detail=detail)

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """1 for reaching the goal."""
        done, success = await _read(sandbox)
        return StepReward(reward=float(success), terminated=done)


async def _read(sandbox: Sandbox) -> tuple[bool, bool]:
    done, success = await sandbox.evaluate("done"), await sandbox.evaluate("success")
    if not isinstance(done, bool) or not isinstance(success, bool):
        raise VerifierError(f"the fake sandbox answered {done!r}, {success!r} instead of two booleans")
    return done, success


def create() -> RewardingVerifier:
    """The verifier `fake`; it has no settings."""
    return FakeVerifier()
