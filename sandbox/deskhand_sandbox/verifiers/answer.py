"""A verdict on what the agent said, for tasks that ask a question."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, cast, get_args

from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import CommandHung, InvalidTask, VerifierError
from deskhand_sandbox.types import Outcome

Match: TypeAlias = Literal["text", "number", "holds"]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class AnswerVerifier:
    """Success when the answer is the one that is expected, or that an expression gives now.

    Where the expression gives an empty text, as of a page that was left, no answer is right.
    """

    def __init__(self, *, expected: str | None, expression: str | None, match: Match) -> None:
        self._expected = expected
        self._expression = expression
        self._match: Match = match

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict on the answer.

        Raises:
            VerifierError: the expression gives neither text nor a number, or no number to be matched as one.
        """
        if answer is None:
            return Outcome(score=0.0, success=False, detail="the agent gave no answer")
        try:
            right = await self._right(sandbox)
        except CommandHung as error:
            return Outcome(score=0.0, success=False, detail=str(error))
        success = bool(_plain(right)) and _same(answer, right, self._match)
        return Outcome(
            score=float(success), success=success, detail=f"answered {answer[:80]!r}, right is {right!r}"
        )

    async def _right(self, sandbox: Sandbox) -> str:
        if self._expression is None:
            return str(self._expected)
        value = await sandbox.evaluate(self._expression)
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise VerifierError(f"the expression gave {value!r}, not text or a number")
        return str(value)


def _same(answer: str, right: str, match: Match) -> bool:
    match match:
        case "number":
            found = _NUMBER.findall(answer.replace(",", ""))
            wanted = _number(right)
            return len(found) == 1 and float(found[0]) == wanted
        case "holds":
            return _plain(right) in _plain(answer)
        case _:
            return _plain(answer) == _plain(right)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise VerifierError(f"the expression gave {text!r}, not a number") from error


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .\"'")


def create(*, expected: object = None, expression: object = None, match: object = "text") -> Verifier:
    """The verifier `answer`.

    Args:
        expected: the right answer; or
        expression: in the sandbox's own language, which gives it.
        match: "text" (but for case, blanks, a full stop and quotes), "number" (the one number in the
            answer), or "holds" (the right answer is in it).

    Raises:
        InvalidTask: neither or both of expected and expression, an empty one expected, or no such match.
    """
    if (expected is None) == (expression is None):
        raise InvalidTask("the answer verifier needs expected or expression, one of them")
    if match not in get_args(Match):
        raise InvalidTask(f"match must be {', '.join(get_args(Match))}, not {match!r}")
    if expression is not None and not isinstance(expression, str):
        raise InvalidTask(f"expression must be text, not {expression!r}")
    if expected is not None and (isinstance(expected, bool) or not isinstance(expected, str | int | float)):
        raise InvalidTask(f"expected must be text or a number, not {expected!r}")
    right = None if expected is None else str(expected)
    if right is not None and not _plain(right):
        raise InvalidTask(f"expected must say what is right, and {right!r} says nothing")
    if match == "number" and right is not None and not _NUMBER.fullmatch(right):
        raise InvalidTask(f"expected must be a number to be matched as one, not {right!r}")
    return AnswerVerifier(expected=right, expression=expression, match=cast("Match", match))
