"""No verifier: of tasks whose end nobody can check by rule, and a judge or a person has to look at."""

from __future__ import annotations

from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import NoVerifier
from deskhand_sandbox.types import Outcome


class Unverified:
    """Says of nothing whether it succeeded."""

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """
        Raises:
            NoVerifier: always.
        """
        raise NoVerifier("the task has no verifier")


def create() -> Verifier:
    """The verifier `none`; it has no settings."""
    return Unverified()
