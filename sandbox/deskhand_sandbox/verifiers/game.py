"""The verdict of our own pages: each keeps its state, its score and the rewards not yet taken."""

from __future__ import annotations

from deskhand_sandbox.base import RewardingVerifier, Sandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue, Outcome, StepReward
from deskhand_sandbox.verifiers.own_page import asked_of, checked_page
from deskhand_sandbox.verifiers.values import number

SCORE = "typeof NAME === 'undefined' ? null : [NAME.done, NAME.won, NAME.score()]"
STEP = "typeof NAME === 'undefined' ? null : [NAME.done, NAME.takeReward()]"


class GameVerifier:
    """Success when the game is won; the score is how far the player came, 0 to 1."""

    def __init__(self, name: str, page: str) -> None:
        self._score, self._step = (asked_of(page, each.replace("NAME", name)) for each in (SCORE, STEP))

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict now; another page in front has none, and is 0."""
        told = await sandbox.evaluate(self._score)
        if told is None:
            return Outcome(score=0.0, success=False, detail="the page in front is not the game's")
        done, won, score = _items(told, 3)
        state = "won" if won is True else "lost" if done is True else "not finished"
        reached = number(score, "the game's score")
        return Outcome(score=reached, success=won is True, detail=f"{state}, score {reached:g}")

    async def step_reward(self, sandbox: Sandbox) -> StepReward:
        """Progress since the last call; over all steps of a game won they add up to 1."""
        told = await sandbox.evaluate(self._step)
        if told is None:
            return StepReward(reward=0.0, terminated=False)
        done, reward = _items(told, 2)
        return StepReward(reward=number(reward, "the game's reward"), terminated=done is True)


def _items(told: JsonValue, count: int) -> list[JsonValue]:
    if not isinstance(told, list) or len(told) != count:
        raise VerifierError(f"the game answered {told!r}, not {count} values")
    return told


def create(*, name: str = "game", page: str = "") -> RewardingVerifier:
    """The verifier `game`.

    Args:
        name: what the page calls the object that keeps the score.
        page: the page's address; without one a page of any host is asked.

    Raises:
        InvalidTask: the page is no address.
    """
    return GameVerifier(name, checked_page(page))
