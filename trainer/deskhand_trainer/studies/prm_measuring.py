"""How good a process reward model is on labelled episodes of tasks it never saw."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deskhand_flywheel.prm.calibration import (
    SURE,
    Quality,
    Scaling,
    quality,
    settled,
    settled_by_chance,
)
from deskhand_flywheel.prm.examples import examples_from
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_flywheel.prm.targets import StepTarget
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepValue, TrajectoryFilter
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.keeping import trained_on
from deskhand_trainer.prm.material import Material, measuring_material
from deskhand_trainer.prm.scaling import calibrate

RESAMPLES = 500
Scored = Sequence[tuple[float, StepTarget]]
"""Score and target of the steps of one start state's episodes."""


async def measure(
    store: tuple[str, str], model: str, config: ScoreConfig, unseen: Sequence[str], *, folder: Path
) -> dict[str, Any]:
    """Calibrate a model of the store on what it was not trained on, and measure it on tasks it never saw.

    Args:
        store: URLs of a database and of its blobs.
        model: its id.
        config: whose Monte-Carlo labels, of which runs.
        unseen: the tasks.
        folder: where its files are put.

    Returns:
        "auc", "ece", "brier", "ece_before", of the steps that the AUC is over "ece_settled", "auc_sure" of
        those whose labels are surer, and "auc_by_values" of who knows how often each state succeeds and
        nothing of the step, each [value, low, high] where there is one; and counts, with "by_chance" and
        "sure_by_chance" of how many would be either if no step but the last had changed anything.

    Raises:
        NoLabels: there are none of what it was not trained on.
    """
    async with await Store.open(*store) as opened:
        record = await opened.policy(model)
        loaded = ProcessRewardModel.load(await opened.materialise_policy(model, folder))
        never = await trained_on(opened, record.metadata, TrajectoryFilter())
        material = await measuring_material(opened, config, TrajectoryFilter(), never=never)
    nobody = Material(trajectories=(), targets={})
    _, told = calibrate(loaded, material, nobody, record.metadata, held_out=frozenset(unseen))
    logits, episodes = _logits(loaded, material, unseen)
    starts, before = _scores(logits, told.scaling), _scores(logits, Scaling())
    found = _quality(starts)
    telling = [[step for step in start if settled(step[1]) is not None] for start in starts]
    sure = [[step for step in start if settled(step[1], beyond=SURE) is not None] for start in starts]
    # as the labels have it: 1 where no continuation succeeds
    hopeless = [[(1.0 - (target.value or 0.0), target) for _, target in start] for start in starts]
    values = await _values(store, config, unseen)
    measured = [each for each in values if (each.trajectory_id, each.step_index) in material.targets]
    return {
        "auc": _interval(starts, lambda q: q.auc),
        "auc_sure": _interval(sure, lambda q: q.auc),
        "auc_by_values": _interval(hopeless, lambda q: q.auc),
        "ece": _interval(starts, lambda q: q.calibration_error),
        "ece_settled": _interval(telling, lambda q: q.calibration_error),
        "brier": _interval(starts, lambda q: q.brier),
        "ece_before": _interval(before, lambda q: q.calibration_error),
        "steps": found.steps,
        "settled": found.settled,
        "sure": sum(map(len, sure)),
        "by_chance": settled_by_chance(measured),
        "sure_by_chance": settled_by_chance(measured, beyond=SURE),
        "episodes": episodes,
        "starts": len(starts),
        "fitted": told.fitted,
        "inexact": 0 if config.inexact else sum(not each.exact for each in values),
    }


def _logits(model: ProcessRewardModel, material: Material, tasks: Sequence[str]) -> tuple[list[Scored], int]:
    """Of every labelled step of the tasks' episodes, logit in place of score, before any scaling; and of how
    many episodes they are."""
    chosen = [t for t in material.trajectories if t.start.task.id in tasks]
    examples = examples_from(chosen, model.bundle, material.targets)
    logits = model.turn_logits([each.sample for each in examples])
    start_of = {t.id: (t.start.task.id, t.start.task.seed) for t in chosen}
    by_start: dict[tuple[str, int], list[tuple[float, StepTarget]]] = {}
    for example, logit in zip(examples, logits, strict=True):
        by_start.setdefault(start_of[example.sample.trajectory_id], []).append((logit, example.target))
    return [*by_start.values()], len({each.sample.trajectory_id for each in examples})


def _scores(starts: Sequence[Scored], scaling: Scaling) -> list[Scored]:
    return [[(scaling.score(logit), target) for logit, target in start] for start in starts]


async def _values(store: tuple[str, str], config: ScoreConfig, tasks: Sequence[str]) -> Sequence[StepValue]:
    """Monte-Carlo labels of these tasks' steps, those too that began in a screen other than recorded."""
    async with await Store.open(*store) as opened:
        ids = await opened.trajectory_ids(TrajectoryFilter(task_ids=tuple(tasks)))
        return await opened.step_values(labeller=config.labeller or None, trajectory_ids=ids)


def _quality(starts: Sequence[Scored]) -> Quality:
    steps = [step for start in starts for step in start]
    return quality([score for score, _ in steps], [target for _, target in steps])


def _interval(
    starts: Sequence[Scored], pick: Callable[[Quality], float | None]
) -> tuple[float, float, float] | None:
    """A figure with its 95 % percentile interval by bootstrap over start states (Efron 1979): the steps of
    one, in however many episodes, are not independent of one another."""
    value = pick(_quality(starts))
    if value is None:
        return None
    chance = random.Random(0)
    again = [pick(_quality(chance.choices(starts, k=len(starts)))) for _ in range(RESAMPLES)]
    drawn = sorted(each for each in again if each is not None)
    return value, drawn[int(0.025 * len(drawn))], drawn[min(len(drawn) - 1, int(0.975 * len(drawn)))]
