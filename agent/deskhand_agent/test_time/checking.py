"""Asking whether it is done: before "finished" is taken for the end, and before an attempt is.

The verifier's verdict is no part of it: that is for training and for measuring. Words as in training with
unary feedback (UFO, arXiv:2507.14295) and second attempts (SCoRe, arXiv:2409.12917).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import mend_reply
from deskhand_agent.last_words import last_words
from deskhand_agent.test_time.judging import StepJudge
from deskhand_agent.types import Context, Decision, Step
from deskhand_sandbox.types import Observation

NOT_DONE = "That is not done yet. Go on."
"""What the agent is told that said it had finished."""
TRY_AGAIN = "That was not right. Try again."
"""What the agent is told between two attempts."""
QUESTION = "Is the task done? Answer with answer(content='yes') or answer(content='no')."


def told_again(step: Step) -> bool:
    """Whether an attempt failed with it, and the start state came again."""
    return step.answer is not None and step.answer.endswith(TRY_AGAIN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """An opinion on whether the task is done."""

    done: bool
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    """As in `Decision.cost`."""


class Checker(Protocol):
    """Says whether the task is done, by what the agent can know."""

    async def check(self, before: Context, step: Step, after: Observation) -> Check:
        """
        Args:
            before: in which the last step was decided.
            after: the screen it led to.

        Raises:
            InferenceError: whoever is asked did not answer.
        """
        ...


@runtime_checkable
class Answering(Protocol):
    """A policy that can be asked something else than what to do."""

    async def ask(self, context: Context, question: str) -> Decision:
        """Its reply as text, with what it cost, and its fault where it is no answer; no actions are read.

        Raises:
            InferenceError: the model did not reply.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedModel:
    """The model looks again. Only a plain no counts: what is neither, refused or cut off leaves the agent's
    word."""

    model: Answering

    async def check(self, before: Context, step: Step, after: Observation) -> Check:
        now = replace(before, steps=(*before.steps, step), observation=after)
        said = await self.model.ask(now, QUESTION)
        return Check(done=said.fault is not None or not _says_no(said.text), cost=said.cost)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedJudge:
    """A process reward model scores the last step."""

    judge: StepJudge
    least: float
    """Score of a step that ends a task well."""

    async def check(self, before: Context, step: Step, after: Observation) -> Check:
        (score,) = await self.judge.scores(before, [step.decision])
        return Check(done=score >= self.least)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfCheck:
    """How an episode's ends are looked at again."""

    checker: Checker
    doubts: int = 0
    """Times that "finished" may be doubted."""


def _says_no(text: str) -> bool:
    try:
        # UI-TARS's formats have no other word for an answer than the end
        text = last_words(mend_reply(text).actions) or ""
    except ActionSyntaxError:
        text = text.rpartition("</think>")[2]
    return re.match(r"\W*no\b", text, re.IGNORECASE) is not None
