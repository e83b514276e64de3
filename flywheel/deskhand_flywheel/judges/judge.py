"""Judges that ask a model: of a step (a process judge), or of a whole episode (an outcome judge).

A reply that holds no verdict is asked for again, told what was wrong with it, a bounded number of times. What
the endpoint does wrong is `ApiClient`'s to try again. Whatever is left over is one typed `NoVerdict`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from blake3 import blake3

from deskhand_agent.accounts import together
from deskhand_agent.apis import ApiSettings
from deskhand_agent.chat import ChatEndpoint, ChatMessage
from deskhand_agent.errors import EndpointError, InferenceTimeout
from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import BlobError, NoVerdict, UnreadablePicture, UnreadableVerdict
from deskhand_flywheel.judges.prompts import Look, outcome_messages, step_messages
from deskhand_flywheel.judges.rubrics import FORM, Rubric, packaged_rubric
from deskhand_flywheel.judges.verdicts import Verdict, VerdictRepair, read_verdict
from deskhand_flywheel.types import JUDGE, JudgeTrouble, OutcomeScore, StepScore
from deskhand_sandbox.types import Image

_MOST_NAME = 120
"""Characters of a model's name in a scorer's: its digest is of all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings(ApiSettings):
    """Which endpoint and model, and how to ask."""

    temperature: float | None = None
    """None: 0; at OpenAI's own, whose reasoning models refuse that, the model's own."""
    max_tokens: int = 1024
    asks: int = 3
    """Replies asked for at most before there is no verdict."""
    longest_px: int = 1280
    """Of a screen's longer side; larger ones are shown smaller."""

    def __post_init__(self) -> None:
        ApiSettings.__post_init__(self)
        for name in ("asks", "longest_px", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")


@dataclass(kw_only=True, slots=True)
class Asked:
    """What a judge's questions came to so far."""

    repairs: Counter[VerdictRepair] = field(default_factory=Counter[VerdictRepair])
    unreadable: int = 0
    """Replies that held no verdict."""
    cost: dict[str, float] = field(default_factory=dict[str, float])
    """As in `Decision.cost`, added up."""


class Judge:
    """Asks one model by one rubric."""

    def __init__(self, settings: JudgeSettings, rubric: Rubric, *shown: str) -> None:
        """
        Args:
            shown: what else than the settings shapes what it is shown; part of its name.

        Raises:
            EndpointError: OpenAI's own endpoint is asked for without a key, or what is given is no URL.
        """
        self.settings, self.rubric = settings, rubric
        self._endpoint = ChatEndpoint(settings)
        given = settings.temperature
        self._temperature = self._endpoint.steady if given is None else given
        shaped = [settings.model, rubric.text, FORM, self._temperature, settings.longest_px, *shown]
        digest = blake3(json.dumps(shaped).encode()).hexdigest()[:12]
        self.scorer = f"{JUDGE}:{settings.model[:_MOST_NAME]}@{digest}"
        self.asked = Asked()

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _verdict(self, messages: Sequence[ChatMessage]) -> Verdict:
        """
        Raises:
            NoVerdict: the endpoint gave no reply, or none that holds one.
        """
        said: list[ChatMessage] = []
        wrong = ""
        for _ in range(self.settings.asks):
            reply = await self._reply([*messages, *said])
            try:
                verdict = read_verdict(reply)
            except UnreadableVerdict as error:
                self.asked.unreadable += 1
                wrong = str(error)
                told = f"That could not be read: {wrong}. Reply once more, as you were told to."
                said = [
                    {"role": "assistant", "content": reply[:2000] or "(nothing)"},
                    {"role": "user", "content": told},
                ]
                continue
            self.asked.repairs.update(verdict.repairs)
            return verdict
        raise NoVerdict(
            f"{self.settings.asks} replies held no verdict, the last because {wrong}",
            trouble=JudgeTrouble.NONSENSE,
        )

    async def _reply(self, messages: Sequence[ChatMessage]) -> str:
        settings = self.settings
        try:
            reply = await self._endpoint.ask(
                messages, temperature=self._temperature, max_tokens=settings.max_tokens
            )
        except InferenceTimeout as error:
            self._paid(error.cost)
            raise NoVerdict(str(error), trouble=JudgeTrouble.TIMEOUT) from error
        except EndpointError as error:
            self._paid(error.cost)
            trouble = JudgeTrouble.PICTURE if error.trouble is None else JudgeTrouble(error.trouble.value)
            raise NoVerdict(str(error), trouble=trouble) from error
        self._paid(reply.cost)
        return reply.content.text

    def _paid(self, cost: Mapping[str, float]) -> None:
        self.asked.cost = together([self.asked.cost, cost])


class ProcessJudge(Judge):
    """Says of each step how much it helps; implements `RewardModel`.

    After GUI-Shepherd (arXiv:2509.23738).
    """

    def __init__(self, settings: JudgeSettings, rubric: Rubric | None = None) -> None:
        """
        Args:
            rubric: None: the package's.

        Raises:
            EndpointError: OpenAI's own endpoint is asked for without a key.
        """
        super().__init__(settings, rubric or packaged_rubric("process"))

    async def score(self, trajectory: Trajectory) -> Sequence[StepScore]:
        """One score per step, in order; the trajectory is read with images.

        Raises:
            NoVerdict: there is none on a step.
        """
        return [await self.score_step(trajectory, place, as_is) for place in range(len(trajectory.steps))]

    async def score_step(self, trajectory: Trajectory, place: int, look: Look) -> StepScore:
        """The score of one step.

        Args:
            place: of the step among the trajectory's.
            look: fetches pictures.

        Raises:
            NoVerdict: there is none.
        """
        with_pictures = step_messages(
            self.rubric, trajectory, place, look, longest_px=self.settings.longest_px
        )
        try:
            messages = await with_pictures
        except (BlobError, UnreadablePicture, EndpointError) as error:
            raise NoVerdict(str(error), trouble=JudgeTrouble.PICTURE) from error
        verdict = await self._verdict(messages)
        return StepScore(
            trajectory_id=trajectory.id,
            step_index=trajectory.steps[place].index,
            score=verdict.score,
            scorer=self.scorer,
            rationale=verdict.rationale,
        )


class OutcomeJudge(Judge):
    """Says of a whole episode whether it did what was asked (UI-TARS-2's outcome reward model)."""

    def __init__(self, settings: JudgeSettings, rubric: Rubric | None = None) -> None:
        """
        Args:
            rubric: None: the package's.

        Raises:
            EndpointError: OpenAI's own endpoint is asked for without a key.
        """
        super().__init__(settings, rubric or packaged_rubric("outcome"), "every turn", "last words")

    async def score(self, trajectory: Trajectory, look: Look | None = None) -> OutcomeScore:
        """The score of one episode.

        Args:
            look: fetches pictures; None: the trajectory was read with images.

        Raises:
            NoVerdict: there is none.
        """
        with_pictures = outcome_messages(
            self.rubric, trajectory, look or as_is, longest_px=self.settings.longest_px
        )
        try:
            messages = await with_pictures
        except (BlobError, UnreadablePicture, EndpointError) as error:
            raise NoVerdict(str(error), trouble=JudgeTrouble.PICTURE) from error
        verdict = await self._verdict(messages)
        return OutcomeScore(
            trajectory_id=trajectory.id,
            score=verdict.score,
            scorer=self.scorer,
            rationale=verdict.rationale,
        )


async def as_is(image: Image) -> Image:
    """A picture that has its bytes."""
    return image
