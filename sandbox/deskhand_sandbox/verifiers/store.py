"""The verdict of the shop's pages: what was bought stands in the address of the page in front."""

from __future__ import annotations

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.store.goals import Goal, read_goal, reward
from deskhand_sandbox.store.pages import Purchase, address_of, bought
from deskhand_sandbox.types import JsonValue, Outcome, StepReward


class StoreVerifier:
    """WebShop's: the score is how much of what was asked for was bought, success is all of it."""

    def __init__(self, goal: Goal) -> None:
        self._goal = goal

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict on what was bought; what the agent said plays no part."""
        purchase = await _purchase(sandbox)
        if purchase is None:
            return Outcome(score=0.0, success=False, detail="nothing was bought")
        score = reward(self._goal, purchase.product, purchase.chosen)
        return Outcome(score=score, success=score == 1.0, detail=f"bought {purchase.product.title}")

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """Buying ends the episode; the reward is the outcome's."""
        return StepReward(reward=0.0, terminated=await _purchase(sandbox) is not None)


async def _purchase(sandbox: Sandbox) -> Purchase | None:
    address = address_of(str(await sandbox.evaluate("location.href")))
    return None if address is None else bought(address)


def create(*, goal: JsonValue) -> RewardingVerifier:
    """The verifier `store`.

    Args:
        goal: settings of a `deskhand_sandbox.store.goals.Goal`.

    Raises:
        InvalidTask: it is none.
    """
    if not isinstance(goal, dict):
        raise InvalidTask(f"the verifier store needs the goal it judges by, not {goal!r}")
    return StoreVerifier(read_goal(goal))
