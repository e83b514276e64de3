"""A person at the page: whoever answers what is proposed decides every action (see `reviewing`)."""

from __future__ import annotations

from deskhand_agent.types import Context, Decision

PERSON = "person"
"""Its name in the registry."""
WAIT_S = 300.0
"""How long it waits for each action where nothing else is said."""


class PersonPolicy:
    """Proposes nothing: a turn in which no person says what to do is void."""

    id = PERSON

    async def act(self, context: Context) -> Decision:
        """A void turn, for a person to replace."""
        return Decision(actions=(), text="", error="nobody said in time what to do")
