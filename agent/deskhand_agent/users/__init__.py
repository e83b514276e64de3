"""The person an agent works for, who may be asked in an episode: by rules, or played by a model.

What the task's instruction leaves out (`Task.details`) is theirs to say, and nobody tells the agent before it
asks. After MUA-RL (arXiv:2508.18669).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from deskhand_agent.errors import InferenceError
from deskhand_agent.time_limits import within
from deskhand_agent.types import Step
from deskhand_sandbox.types import AskUser, Task

NOBODY = "Nobody is there to answer. Decide yourself."
SILENT = "The user did not answer in time. Decide yourself."
UNREACHABLE = "The user cannot be reached. Decide yourself."
ENOUGH = "The user answers no more questions. Decide yourself."
AWAY = (SILENT, UNREACHABLE)
"""What stands in an answer's place where there should have been one."""
UP_TO_YOU = "That is up to you."
"""What the user of `by_rule` says to questions about nothing of the task's details."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a user is asked."""

    text: str
    """Empty where the agent only calls for them."""
    task: Task
    instruction: str
    """What they told the agent to do."""
    before: tuple[tuple[str, str], ...] = ()
    """Earlier questions of the episode and what was answered, oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a user says."""

    text: str
    """Empty where they say nothing."""
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    """As in `Decision.cost`."""


User: TypeAlias = Callable[[Question], Awaitable[Reply]]
"""Answers; raises `InferenceError` where it cannot."""


async def by_rule(question: Question) -> Reply:
    """The user who says every detail whose topic the question names, and all of them where it asks nothing.

    A task without details has nobody to ask.
    """
    details = question.task.details
    if not details:
        return Reply(text=NOBODY)
    asked = _words(question.text)
    named = {topic: detail for topic, detail in details.items() if not asked or _words(topic) <= asked}
    return Reply(text=in_words(named) or UP_TO_YOU)


def in_words(details: Mapping[str, str]) -> str:
    """Details on one line: "color: red, size: M"."""
    return ", ".join(f"{topic}: {detail}" for topic, detail in details.items())


class Conversation:
    """The questions of one episode: bounded in number and time, and never what breaks it."""

    def __init__(
        self, user: User, task: Task, instruction: str, *, answer_s: float, earlier: Iterable[Step] = ()
    ) -> None:
        """
        Args:
            answer_s: longest an answer may take.
            earlier: turns the episode has from another; what was asked in them counts.
        """
        self._user, self._task, self._instruction = user, task, instruction
        self._answer_s = answer_s
        self._before = [
            (action.question, step.answer)
            for step in earlier
            for action in step.decision.actions
            if isinstance(action, AskUser) and step.answer is not None
        ]

    async def ask(self, text: str, *, remaining_s: float) -> Reply:
        """The answer, or why there is none.

        Args:
            remaining_s: what the episode has left.
        """
        if len(self._before) >= self._task.limits.questions:
            return Reply(text=ENOUGH)
        reply = await self._answered(text, min(self._answer_s, remaining_s))
        self._before.append((text, reply.text))
        return reply

    def told(self, text: str, answer: str) -> None:
        """Note what somebody beside the agent answered in the user's place."""
        self._before.append((text, answer))

    async def _answered(self, text: str, within_s: float) -> Reply:
        question = Question(
            text=text, task=self._task, instruction=self._instruction, before=tuple(self._before)
        )
        try:
            reply = await within(within_s, self._user(question), TimeoutError())
            return reply if reply.text else replace(reply, text=SILENT)
        except TimeoutError:
            return Reply(text=SILENT)
        except InferenceError as error:
            return Reply(text=UNREACHABLE, cost=error.cost)


def _words(text: str) -> set[str]:
    """Small, and without the s of a plural."""
    return {word.removesuffix("s") for word in re.findall(r"\w+", text.lower())}
