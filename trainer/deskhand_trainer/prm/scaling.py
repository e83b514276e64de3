"""Calibrating a process reward model on labelled steps it was not trained on, and saying how good it is."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from blake3 import blake3

from deskhand_flywheel.agreement import cohen_kappa
from deskhand_flywheel.errors import NoLabels
from deskhand_flywheel.prm.calibration import Quality, Scaling, fit_scaling, quality
from deskhand_flywheel.prm.examples import PrmExample, examples_from
from deskhand_flywheel.prm.scoring import ProcessRewardModel
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.prm.keeping import was_trained_on
from deskhand_trainer.prm.material import Material, Unit, named


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """A model's scores before and after, on steps of episodes it was not trained on."""

    scorer: str
    """The calibrated model's."""
    scaling: Scaling
    measured_on: str
    """Which steps the figures are of: none that their scaling was fitted to, unless it says so."""
    fitted: int
    """Steps the kept scaling was fitted to; 0: it is the one the model came with."""
    before: Quality
    after: Quality
    kappa: float | None
    """Cohen's: agreement with people on whether steps help; None without steps they marked both ways."""
    marked: int
    """Steps that people marked and the model was not trained on."""


def calibrate(
    model: ProcessRewardModel,
    material: Material,
    marked: Material,
    metadata: Mapping[str, JsonValue],
    *,
    held_out: Collection[str] = HELD_OUT_TASKS,
) -> tuple[ProcessRewardModel, Calibration]:
    """A copy of the model with its scores scaled to the labels (Platt scaling), and what that does.

    Held-out tasks and seeds are measured where there are labels of them, with the scaling fitted to the other
    unseen episodes; where there are no others, with the one the model came with. Without labels of held-out
    ones the unseen tasks, or starts, are halved: each half is measured by what was fitted to the other, and
    what is kept is fitted to both.

    Args:
        material: labelled episodes; those the model was trained on are left out.
        marked: the same with people's labels.
        metadata: of the model's record.
        held_out: tasks that are measured and not fitted to, beside the validation and test seeds of others.

    Raises:
        NoLabels: it was trained on all of them.
        InferenceError: a picture is unreadable.
    """
    raw = _scaled(model, Scaling())
    seen = _unseen(raw, material, metadata)
    if not seen:
        count = material.passed_over + len(material.trajectories)
        raise NoLabels(
            f"all {count} labelled episodes may have been trained on: label episodes of other tasks or start "
            "states to calibrate on"
        )
    apart = [each for each in seen if each.never_trained_on(held_out)]
    others = [each for each in seen if not each.never_trained_on(held_out)]
    scaling = _fitted(others) if others else _scaling_of(model)
    if apart:
        measured, measured_on = apart, "held-out tasks and seeds"
        after = [scaling.score(each.logit) for each in measured]
    else:
        measured, measured_on, after = seen, *_cross_fitted(seen, metadata)
    targets = [each.example.target for each in measured]
    calibrated = _scaled(model, scaling)
    people = _unseen(raw, marked, metadata)
    agreed = [(scaling.score(p.logit) > 0.5, p.example.label > 0.5) for p in people if p.example.label != 0.5]
    return calibrated, Calibration(
        scorer=calibrated.scorer,
        scaling=scaling,
        measured_on=measured_on,
        fitted=len(others),
        before=quality([Scaling().score(each.logit) for each in measured], targets),
        after=quality(after, targets),
        kappa=cohen_kappa(agreed),
        marked=len(agreed),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    """A labelled step, and what the model says of it before scaling."""

    example: PrmExample
    logit: float
    start: tuple[str, int]
    """Task and seed."""
    split: Split

    def never_trained_on(self, held_out: Collection[str]) -> bool:
        return self.split is not Split.TRAIN or self.start[0] in held_out


def _unseen(model: ProcessRewardModel, material: Material, metadata: Mapping[str, JsonValue]) -> list[_Seen]:
    trajectories = {t.id: t for t in material.trajectories if not was_trained_on(metadata, t)}
    examples = examples_from(trajectories.values(), model.bundle, material.targets)
    logits = model.turn_logits([each.sample for each in examples])
    found: list[_Seen] = []
    for example, logit in zip(examples, logits, strict=True):
        of = trajectories[example.sample.trajectory_id].start
        found.append(_Seen(example=example, logit=logit, start=(of.task.id, of.task.seed), split=of.split))
    return found


def _cross_fitted(seen: Sequence[_Seen], metadata: Mapping[str, JsonValue]) -> tuple[str, list[float]]:
    """What the scores after scaling are of, and each of them by what was fitted to the other half."""
    unit: Unit = "task" if metadata.get("unit") == "task" else "start"
    names = [named(unit, each.example.sample.trajectory_id, *each.start) for each in seen]
    drawn = sorted(set(names), key=_drawn)
    if len(drawn) == 1:
        scaling = _fitted(seen)
        return f"the one unseen {unit}, fitted to it too", [scaling.score(each.logit) for each in seen]
    half = {name: place % 2 for place, name in enumerate(drawn)}
    own = [half[name] for name in names]
    by_half = [_fitted([e for e, at in zip(seen, own, strict=True) if at != half_of]) for half_of in (0, 1)]
    after = [by_half[at].score(each.logit) for each, at in zip(seen, own, strict=True)]
    return f"unseen {unit}s, cross-fitted", after


def _drawn(name: str) -> bytes:
    """An order of names that has nothing to do with what they are of."""
    return blake3(name.encode()).digest()


def _fitted(seen: Sequence[_Seen]) -> Scaling:
    return fit_scaling([each.logit for each in seen], [each.example.label for each in seen])


def _scaling_of(model: ProcessRewardModel) -> Scaling:
    return Scaling(scale=float(model.head.scale), shift=float(model.head.shift))


def _scaled(model: ProcessRewardModel, scaling: Scaling) -> ProcessRewardModel:
    head = copy.deepcopy(model.head)
    with torch.no_grad():
        head.scale.fill_(scaling.scale)
        head.shift.fill_(scaling.shift)
    return ProcessRewardModel(model.bundle, head)
