"""The verdict a MiniWoB++ page keeps about itself."""

from __future__ import annotations

import math

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import Outcome, StepReward
from deskhand_sandbox.verifiers.own_page import asked_of, checked_page

SITE = "http://miniwob.localhost/"

READ = (
    "typeof WOB_DONE_GLOBAL === 'undefined' ? null"
    " : [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL, WOB_REWARD_REASON]"
)
"""Done, raw reward (without time discount) and reason; null on a page that is not MiniWoB++."""


class MiniwobVerifier:
    """Success is a raw reward above zero, as BrowserGym counts it; the score is the reward cut to 0..1."""

    def __init__(self, page: str) -> None:
        self._read = asked_of(page, READ)

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The page's verdict; an unfinished page is 0, and what the agent said plays no part."""
        done, reward, reason = await self._told(sandbox)
        if not done:
            return Outcome(score=0.0, success=False, detail="the page's task was not finished")
        detail = f"raw reward {reward:g}" + (f": {reason}" if reason else "")
        return Outcome(score=min(1.0, max(0.0, reward)), success=reward > 0, detail=detail)

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """Raw reward once the page has ended the episode, 0 before."""
        done, reward, _ = await self._told(sandbox)
        return StepReward(reward=reward if done else 0.0, terminated=done)

    async def _told(self, sandbox: Sandbox) -> tuple[bool, float, str]:
        value = await sandbox.evaluate(self._read)
        if value is None:
            # the agent left the page: whatever it did there, the task is not done
            return False, 0.0, "the page in front is not the task's"
        if not isinstance(value, list) or len(value) != 3:
            raise VerifierError(f"the page answered {value!r} instead of done, reward and reason")
        done, reward, reason = value
        if done and (reward is None or (isinstance(reward, float) and not math.isfinite(reward))):
            # a wrong answer leaves bisect-angle with 0 / 0, or an angle there is none of; Chromium tells null
            return True, -1.0, "the page ended the task with a reward that is no number"
        if not isinstance(reward, int | float):
            raise VerifierError(f"the page answered {value!r} instead of done, reward and reason")
        return bool(done), float(reward), str(reason or "")


def create(*, page: str = SITE) -> RewardingVerifier:
    """The verifier `miniwob`; `page` is the address of the task's page, all of them where none is named.

    Raises:
        InvalidTask: it is no address.
    """
    return MiniwobVerifier(checked_page(page))
