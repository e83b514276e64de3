"""What came of an attempt, as its verifier says in time."""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_agent.time_limits import within
from deskhand_agent.types import StopReason
from deskhand_sandbox.base import GivenUpVerifier, Sandbox, Verifier
from deskhand_sandbox.errors import NoVerifier, VerifierError
from deskhand_sandbox.types import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdicts:
    """On the state that one sandbox is in."""

    verifier: Verifier
    sandbox: Sandbox
    verify_s: float
    """How long one may take."""

    async def on(self, stop: StopReason, answer: str | None) -> Outcome | None:
        """The verdict on an attempt that ended so; None where the task has no verifier.

        Args:
            answer: what the agent last said.

        Raises:
            VerifierError: the verifier broke, or took too long.
        """
        late = VerifierError(f"no verdict within {self.verify_s:g} s")
        if stop is StopReason.GAVE_UP and isinstance(self.verifier, GivenUpVerifier):
            verdict = self.verifier.score_given_up(self.sandbox)
        else:
            verdict = self.verifier.score(self.sandbox, answer=answer)
        try:
            return await within(self.verify_s, verdict, late)
        except NoVerifier:
            return None
