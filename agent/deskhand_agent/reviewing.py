"""A person beside the agent: sees each action before it is carried out, and accepts or replaces it.

After UI-TARS-2's on-policy annotation (arXiv 2509.02544): what is corrected is what the policy itself would
have done wrong, in the state it brought about itself.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Protocol

from deskhand_agent.grammar import format_reply
from deskhand_agent.time_limits import waiting_ones_turn
from deskhand_agent.types import (
    Connected,
    Context,
    Decision,
    Oracle,
    Policy,
    Proposal,
    Review,
    ReviewVerdict,
    reads_tree,
)
from deskhand_sandbox.types import Action

REVIEWED = {"reviewed": "yes"}
"""Labels of episodes that are worked so."""
GRACE_S = 5.0
"""How much later than it was told a reviewer that hangs is given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonsAnswer:
    """What a person says to what is about to be done."""

    by: str
    actions: tuple[Action, ...] | None = None
    """To be done in its place, in pixels of the screen; None: accepted."""
    thought: str | None = None
    """Thought aloud with them."""
    reason: str = ""
    answer: str = ""
    """Said to what is asked, where it is accepted; empty: nothing, and the episode's user answers."""


class Reviewer(Protocol):
    """Brings a decision before a person."""

    async def review(self, context: Context, decision: Decision, *, within_s: float) -> PersonsAnswer | None:
        """What they say; None where nobody says anything in time."""
        ...


class ReviewedPolicy:
    """A policy whose every action a person may replace; where none does in time, it has its way."""

    def __init__(self, policy: Policy, reviewer: Reviewer, *, wait_s: float) -> None:
        """
        Args:
            wait_s: longest wait for a person, each turn.
        """
        self.id = policy.id
        self.reads_state = isinstance(policy, Oracle) and policy.reads_state
        self.reads_tree = reads_tree(policy)
        self._policy, self._reviewer, self._wait_s = policy, reviewer, wait_s

    async def act(self, context: Context) -> Decision:
        """The policy's decision or a person's; a summary is nobody's to replace.

        Raises:
            As the policy's and the reviewer's.
        """
        decision = await self._policy.act(context)
        if decision.summary is not None:
            return decision
        began_s = time.monotonic()
        try:
            with waiting_ones_turn():
                async with asyncio.timeout(self._wait_s + GRACE_S):
                    answer = await self._reviewer.review(context, decision, within_s=self._wait_s)
        except TimeoutError:
            answer = None
        return reviewed(decision, answer, waited_s=time.monotonic() - began_s)

    async def close(self) -> None:
        """Close the policy's connections."""
        if isinstance(self._policy, Connected):
            await self._policy.close()


def reviewed(decision: Decision, answer: PersonsAnswer | None, *, waited_s: float) -> Decision:
    """The decision as it stands after a person saw it.

    One that was replaced is not trained on as sampled: its ids are the model's, its actions are not.
    """
    if answer is None:
        return replace(decision, review=Review(verdict=ReviewVerdict.UNANSWERED, by=None, waited_s=waited_s))
    if answer.actions is None:
        review = Review(
            verdict=ReviewVerdict.ACCEPTED,
            by=answer.by,
            reason=answer.reason,
            waited_s=waited_s,
            answer=answer.answer,
        )
        return replace(decision, review=review)
    proposed = Proposal(
        actions=decision.actions,
        text=decision.text,
        thought=decision.thought,
        completion=decision.completion,
    )
    return replace(
        decision,
        actions=answer.actions,
        text=format_reply(answer.thought, answer.actions),
        thought=answer.thought,
        execution=None,
        completion=None,
        trainable=False,
        error=None,
        fault=None,
        repairs=(),
        review=Review(
            verdict=ReviewVerdict.REPLACED,
            by=answer.by,
            reason=answer.reason,
            waited_s=waited_s,
            proposed=proposed,
        ),
    )
