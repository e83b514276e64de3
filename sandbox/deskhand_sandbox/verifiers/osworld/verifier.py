"""Runs an evaluator against a sandbox."""

from __future__ import annotations

import asyncio

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import CommandHung, InvalidTask, VerifierError
from deskhand_sandbox.tasks.setup import run_steps
from deskhand_sandbox.tasks.setup.steps import SetupContext
from deskhand_sandbox.types import Outcome
from deskhand_sandbox.verifiers.osworld.evaluator import Comparison, Evaluator
from deskhand_sandbox.verifiers.osworld.getters import GETTERS
from deskhand_sandbox.verifiers.osworld.values import Unusable, Value


class OsworldVerifier:
    """The score is the mean of the metrics where all must hold, the best of them where one may."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    @property
    def asked_s(self) -> float:
        """See `PatientVerifier`."""
        evaluator = self._evaluator
        got = [
            each for one in evaluator.comparisons for each in (one.result, one.expected) if each is not None
        ]
        return sum(step.asked_s for step in evaluator.before) + sum(
            GETTERS[str(each["type"])].asked_s(each) for each in got
        )

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict on the state as it is now; what the agent said plays no part.

        Raises:
            VerifierError: what the task brings for comparison is not to be had or cannot be read.
        """
        if self._evaluator.infeasible:
            return Outcome(score=0.0, success=False, detail="it cannot be done, and the agent did not say so")
        context = SetupContext(sandbox=sandbox, screen_px=(await sandbox.observe()).size_px, after=True)
        try:
            await run_steps(self._evaluator.before, context)
            return await self._compare(context)
        except InvalidTask as error:
            raise VerifierError(str(error)) from error
        except CommandHung as error:
            return Outcome(score=0.0, success=False, detail=str(error))

    async def score_given_up(self, sandbox: Sandbox) -> Outcome:
        """The verdict when the agent has said that the task cannot be done: right where it cannot."""
        right = self._evaluator.infeasible
        detail = "it cannot be done, and the agent said so" if right else "the agent gave up"
        return Outcome(score=float(right), success=right, detail=detail)

    async def _compare(self, context: SetupContext) -> Outcome:
        scores: list[float] = []
        details: list[str] = []
        for comparison in self._evaluator.comparisons:
            score, why = await _measured(comparison, context)
            scores.append(score)
            details.append(f"{comparison.name} {score:g}" + (f": {why}" if why else ""))
            if self._evaluator.conj == "and" and score == 0:
                break
            if self._evaluator.conj == "or" and score == 1:
                break
        if self._evaluator.conj == "or":
            total = max(scores)
        else:
            total = 0.0 if 0 in scores else sum(scores) / len(scores)
        return Outcome(score=total, success=total >= 1, detail="; ".join(details)[:1000])


async def _measured(comparison: Comparison, context: SetupContext) -> tuple[float, str]:
    expected = None
    if comparison.expected is not None:
        try:
            expected = await GETTERS[str(comparison.expected["type"])].get(context, comparison.expected)
        except Unusable as error:
            raise VerifierError(f"what is expected cannot be had: {error}") from error
    try:
        result = await GETTERS[str(comparison.result["type"])].get(context, comparison.result)
        score = await asyncio.to_thread(_compared, comparison, result, expected)
    except Unusable as error:
        return 0.0, str(error)
    return min(1.0, max(0.0, score)), ""


def _compared(comparison: Comparison, result: Value, expected: Value) -> float:
    try:
        return float(comparison.metric.compare(result, expected, comparison.options))
    except (Unusable, VerifierError, InvalidTask):
        raise
    except Exception as error:  # a bug, and it is no reason to end the episodes beside this one
        raise VerifierError(f"{comparison.name} failed: {type(error).__name__}: {error}") from error
