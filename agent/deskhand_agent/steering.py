"""A person at the controls: while somebody holds them, each turn is theirs, and the model is not asked.

What they do goes through the episode's loop like any turn: it is carried out, rewarded and recorded. They
see all of the screen, so it is carried out there also where the policy was looking at a part. All time limits
stand still while they think.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from deskhand_agent.accounts import spent
from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.grammar import format_reply
from deskhand_agent.reviewing import PersonsAnswer, reviewed
from deskhand_agent.time_limits import waiting_ones_turn, within
from deskhand_agent.types import (
    Connected,
    Context,
    Decision,
    Oracle,
    Policy,
    Review,
    ReviewVerdict,
    reads_tree,
)


class Controls(Protocol):
    """What a person holds, turn by turn."""

    async def next(self, context: Context) -> PersonsAnswer | None:
        """What they do next; None, at once or when they let go, while nobody holds them."""
        ...


class SteeredPolicy:
    """A policy whose turns a person may take."""

    def __init__(self, policy: Policy, controls: Controls, *, person_s: float) -> None:
        """
        Args:
            person_s: longest that a turn waits for whoever holds the controls.
        """
        self.id = policy.id
        self.reads_state = isinstance(policy, Oracle) and policy.reads_state
        self.reads_tree = reads_tree(policy)
        self._policy, self._controls, self._person_s = policy, controls, person_s

    async def act(self, context: Context) -> Decision:
        """The person's turn, or the policy's; one that was decided when they took over is replaced.

        Raises:
            As the policy's; InferenceTimeout: whoever holds the controls did nothing for too long.
        """
        theirs, waited_s = await self._next(context)
        if theirs is not None and theirs.actions is not None:
            return _steered(theirs, waited_s=waited_s)
        decision = await self._policy.act(context)
        if decision.summary is not None:
            return decision
        theirs, waited_s = await self._next(context)
        if theirs is None:
            return decision
        if decision.review is not None:
            waited_s += decision.review.waited_s
        if theirs.actions is not None and context.observation.region is not None:
            # what the policy decided was of a part of the screen: it says nothing of the whole that they saw
            return replace(_steered(theirs, waited_s=waited_s), cost=spent(decision))
        return reviewed(decision, theirs, waited_s=waited_s)

    async def _next(self, context: Context) -> tuple[PersonsAnswer | None, float]:
        """What the person at the controls does, and the seconds waited for it."""
        began_s = time.monotonic()
        late = InferenceTimeout(f"whoever holds the controls did nothing within {self._person_s:g} s")
        with waiting_ones_turn():
            theirs = await within(self._person_s, self._controls.next(context), late)
        return theirs, time.monotonic() - began_s

    async def close(self) -> None:
        """Close the policy's connections."""
        if isinstance(self._policy, Connected):
            await self._policy.close()


def _steered(theirs: PersonsAnswer, *, waited_s: float) -> Decision:
    decision = Decision(
        actions=theirs.actions or (),
        text=format_reply(theirs.thought, theirs.actions or ()),
        thought=theirs.thought,
    )
    review = Review(verdict=ReviewVerdict.STEERED, by=theirs.by, reason=theirs.reason, waited_s=waited_s)
    return replace(decision, review=review)
