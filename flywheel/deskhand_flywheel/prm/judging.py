"""The process reward model as the judge of several replies to one turn (best of N, `test_time`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from deskhand_agent.memory import WindowMemory
from deskhand_agent.types import Context, Decision, Step, StepTimings, Trajectory, TrajectoryStart
from deskhand_flywheel.prm.examples import ReadStep, read_step
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_sandbox.types import Split

_NO_TIME = StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0)


class PrmJudge:
    """A `StepJudge`: each candidate is read as the step it would be."""

    def __init__(self, model: ProcessRewardModel, *, memory: WindowMemory | None = None) -> None:
        """
        Args:
            memory: what of the past is written out for candidates whose ids are not known; None: the model's.
        """
        self._model, self._memory = model, memory

    async def scores(self, context: Context, candidates: Sequence[Decision]) -> Sequence[float]:
        """One score for each candidate, all in one batch; see `StepJudge.scores`.

        Raises:
            InferenceError: a picture came without bytes, or is unreadable.
        """
        return await asyncio.to_thread(self._scores, context, candidates)

    def _scores(self, context: Context, candidates: Sequence[Decision]) -> list[float]:
        return self._model.turn_scores([self._read(context, each) for each in candidates])

    def _read(self, context: Context, candidate: Decision) -> ReadStep:
        request, completion = candidate.request, candidate.completion
        bundle = self._model.bundle
        if request and completion and request.processor_hash == bundle.processor_hash and completion.ids:
            return ReadStep(
                trajectory_id="",
                step_index=len(context.steps),
                prompt_ids=request.prompt_ids,
                reply_ids=completion.ids,
                images=request.images,
            )
        return read_step(_as_trajectory(context, candidate), len(context.steps), bundle, memory=self._memory)


def _as_trajectory(context: Context, candidate: Decision) -> Trajectory:
    """The episode so far, with the candidate as its last step."""
    start = TrajectoryStart(
        id="",
        task=context.task,
        instruction=context.instruction,
        policy_id="",
        policy_update=0,
        group_id=None,
        split=Split.TRAIN,
        started_at_s=0.0,
        notes=context.notes,
    )
    step = Step(
        index=len(context.steps),
        observation=context.observation,
        decision=candidate,
        reward=0.0,
        timings=_NO_TIME,
        finished_at_s=0.0,
    )
    return Trajectory(start=start, steps=(*context.steps, step), end=None)
