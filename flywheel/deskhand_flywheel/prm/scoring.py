"""Scoring with a process reward model: a trajectory, a batch of turns, or what the store has unscored."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from deskhand_agent.errors import InferenceError
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.trees import Turn
from deskhand_agent.precision import Device, device_named
from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import RewardModelError, UnknownTrajectory, UnreadablePicture
from deskhand_flywheel.prm.examples import read_steps
from deskhand_flywheel.prm.model import (
    ScoreHead,
    hidden_width,
    load_reward_model,
    save_reward_model,
    state_hidden,
    step_hidden,
    weights_digest,
)
from deskhand_flywheel.store import Store
from deskhand_flywheel.trajectories import OnDamaged
from deskhand_flywheel.types import StepScore, TrajectoryFilter

_TRAJECTORIES_AT_ONCE = 32


class ProcessRewardModel:
    """Implements `RewardModel`. Made from finished weights: the scorer's name is their digest."""

    def __init__(
        self, bundle: ModelBundle, head: ScoreHead, *, memory: WindowMemory | None = None, batch: int = 64
    ) -> None:
        """
        Args:
            memory: what of the past is written out for turns whose ids are not known; None: the model's.
            batch: turns per forward pass.

        Raises:
            RewardModelError: the head reads states of another width.
        """
        if head.hidden_width != hidden_width(bundle):
            raise RewardModelError(
                f"the head reads states {head.hidden_width} wide, the model's are {hidden_width(bundle)}: "
                "it was trained on another model"
            )
        self.bundle, self.head = bundle, head
        self.scorer = f"prm:{weights_digest(bundle, head)}"
        self._memory, self._batch = memory, batch

    @classmethod
    def load(cls, folder: Path, *, device: Device = "auto") -> ProcessRewardModel:
        """
        Raises:
            RewardModelError: as `load_reward_model`.
            ValueError: a GPU is asked for, and PyTorch finds none.
        """
        return cls(*load_reward_model(folder, device=device_named(device)))

    def save(self, folder: Path) -> None:
        """Write the folder `load` reads."""
        save_reward_model(self.bundle, self.head, folder)

    async def score(self, trajectory: Trajectory) -> Sequence[StepScore]:
        """One score per step, in order; the trajectory is read with images.

        Raises:
            InferenceError: a picture came without bytes, or is unreadable.
        """
        return (await self.score_all([trajectory]))[0]

    async def score_all(self, trajectories: Sequence[Trajectory]) -> list[list[StepScore]]:
        """As `score`, for several at once in full batches; off the event loop."""
        return await asyncio.to_thread(self._score_all, trajectories)

    def turn_scores(self, turns: Sequence[Turn]) -> list[float]:
        """Scores of turns as ids, 0 to 1, in order: candidates of one decision, or a whole batch.

        Raises:
            InferenceError: a picture came without bytes, or is unreadable.
        """
        return torch.sigmoid(torch.tensor(self.turn_logits(turns), dtype=torch.float64)).tolist()

    def turn_logits(self, turns: Sequence[Turn]) -> list[float]:
        """The logits of `turn_scores`.

        Raises:
            InferenceError: a picture came without bytes, or is unreadable.
        """
        return self._each(turns, lambda chosen: self.head(step_hidden(self.bundle, chosen)))

    def turn_values(self, turns: Sequence[Turn]) -> list[float]:
        """Chance to succeed from the state of each turn, 0 to 1, in order; replies are not looked at.

        Raises:
            RewardModelError: the model was trained on labels that say nothing of states.
            InferenceError: a picture came without bytes, or is unreadable.
        """
        if not self.knows_values:
            raise RewardModelError(
                f"{self.scorer} knows of no state how good it is: train one on labels from monte-carlo or "
                "outcome"
            )
        logits = self._each(turns, lambda chosen: self.head.value(state_hidden(self.bundle, chosen)))
        return torch.sigmoid(torch.tensor(logits, dtype=torch.float64)).tolist()

    @property
    def knows_values(self) -> bool:
        """Whether `turn_values` can be asked."""
        return bool(self.head.knows_values)

    def _each(self, turns: Sequence[Turn], of: Callable[[Sequence[Turn]], Tensor]) -> list[float]:
        found: list[float] = []
        # turns of like length side by side: little padding
        order = sorted(range(len(turns)), key=lambda i: len(turns[i].prompt_ids) + len(turns[i].reply_ids))
        with torch.no_grad():
            for begin in range(0, len(order), self._batch):
                chosen = [turns[i] for i in order[begin : begin + self._batch]]
                found += of(chosen).float().tolist()
        by_turn = dict(zip(order, found, strict=True))
        return [by_turn[i] for i in range(len(turns))]

    def _score_all(self, trajectories: Sequence[Trajectory]) -> list[list[StepScore]]:
        read = [read_steps(trajectory, self.bundle, memory=self._memory) for trajectory in trajectories]
        scores = iter(self.turn_scores([step for steps in read for step in steps]))
        return [
            [
                StepScore(
                    trajectory_id=step.trajectory_id,
                    step_index=step.step_index,
                    score=next(scores),
                    scorer=self.scorer,
                )
                for step in steps
            ]
            for steps in read
        ]


async def score_store(
    store: Store,
    model: ProcessRewardModel,
    chosen: TrajectoryFilter | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    on_damaged: OnDamaged | None = None,
) -> int:
    """Score every whole trajectory this scorer has not scored; returns how many.

    Kept as it goes: stopped and started again, it goes on where it was. What the scores contradict is queued
    for review with them, by the rules as they come.

    Args:
        progress: called with trajectories done and in all.
        on_damaged: told of each that cannot be read, which stays unscored; None: the first ends it.

    Raises:
        MissingBlob, CorruptBlob: a picture is gone or damaged, and nobody is told.
        UnknownSchemaVersion, MalformedRecord: a row this version cannot read, and nobody is told.
        InferenceError: a picture is as it was stored and none that can be read, and nobody is told.
        RewardModelError: the model's score of a step is no number, and nobody is told.
    """
    ids = await store.unscored(model.scorer, chosen)
    scored = 0
    for begin in range(0, len(ids), _TRAJECTORIES_AT_ONCE):
        group = ids[begin : begin + _TRAJECTORIES_AT_ONCE]
        read = store.each_trajectory(group, images=True, on_damaged=on_damaged)
        for scores in await _scores_of([found async for found in read], model, on_damaged):
            try:
                await store.add_and_compare(scores)
            except UnknownTrajectory:  # dropped meanwhile
                continue
            scored += 1
        if progress is not None:
            progress(begin + len(group), len(ids))
    return scored


async def _scores_of(
    trajectories: Sequence[Trajectory],
    model: ProcessRewardModel,
    on_damaged: OnDamaged | None,
) -> list[list[StepScore]]:
    """As `score_all`, less those that came to no scores, of which `on_damaged` is told."""
    try:
        scored = await model.score_all(trajectories)
        _check_numbers(scored)
        return scored
    except (InferenceError, RewardModelError) as error:
        if on_damaged is None:
            raise
        if len(trajectories) == 1:
            told = error if isinstance(error, RewardModelError) else UnreadablePicture(str(error))
            on_damaged(trajectories[0].id, told)
            return []
    # one of the batch spoils it for all
    return [scores for each in trajectories for scores in await _scores_of([each], model, on_damaged)]


def _check_numbers(scored: Sequence[Sequence[StepScore]]) -> None:
    for score in (score for each in scored for score in each):
        if not math.isfinite(score.score):
            raise RewardModelError(
                f"{score.scorer} gives {score.score} for step {score.step_index} of {score.trajectory_id}: "
                "its weights are damaged, or too large to compute with"
            )
