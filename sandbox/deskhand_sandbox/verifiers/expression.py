"""A verdict from one expression evaluated behind the screen, for pages without a verdict of their own."""

from __future__ import annotations

from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import CommandHung, VerifierError
from deskhand_sandbox.types import Outcome


class ExpressionVerifier:
    """Success is a true value; a number from 0 to 1 is a score, with success at 1."""

    def __init__(self, expression: str) -> None:
        self._expression = expression

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The expression's value now; a command that hangs has found nothing to pass."""
        try:
            value = await sandbox.evaluate(self._expression)
        except CommandHung as error:
            return Outcome(score=0.0, success=False, detail=str(error))
        if value is not None and not isinstance(value, bool | int | float):
            raise VerifierError(f"the expression gave {value!r:.80}, not true, false or a number from 0 to 1")
        if not 0 <= (value or 0) <= 1:
            raise VerifierError(f"the expression gave {value!r:.80}, not a number from 0 to 1")
        score = float(value or 0)
        return Outcome(score=score, success=score >= 1, detail=f"the expression gave {value!r}")


def create(*, expression: str) -> Verifier:
    """The verifier `expression`; `expression` is in the sandbox's own language (JavaScript in a
    browser, a shell command on a desktop)."""
    return ExpressionVerifier(expression)
