"""A person at the controls: while somebody holds them, each turn is theirs, and the model is not asked.

What they do goes through the episode's loop like any turn: it is carried out, rewarded and recorded. The
episode's time stands still while they think.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.grammar import format_reply
from deskhand_agent.reviewing import PersonsAnswer, reviewed
from deskhand_agent.time_limits import within
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

    def __init__(self, policy: Policy, controls: Controls, *, model_s: float) -> None:
        """
        Args:
            model_s: the policy's own deadline: the loop's has to leave room for a person.
        """
        self.id = policy.id
        self.reads_state = isinstance(policy, Oracle) and policy.reads_state
        self.reads_tree = reads_tree(policy)
        self._policy, self._controls, self._model_s = policy, controls, model_s

    async def act(self, context: Context) -> Decision:
        """The person's turn, or the policy's; one that was decided when they took over is replaced.

        Raises:
            As the policy's; InferenceTimeout: it passed its deadline.
        """
        began_s = time.monotonic()
        theirs = await self._controls.next(context)
        if theirs is not None and theirs.actions is not None:
            return _steered(theirs, waited_s=time.monotonic() - began_s)
        late = InferenceTimeout(f"no decision within {self._model_s:g} s")
        decision = await within(self._model_s, self._policy.act(context), late)
        if decision.summary is not None:
            return decision
        began_s = time.monotonic()
        theirs = await self._controls.next(context)
        waited_s = time.monotonic() - began_s
        if theirs is not None:
            return reviewed(decision, theirs, waited_s=waited_s)
        return decision

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
