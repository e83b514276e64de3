"""What a process reward model is to say of steps, by continuations, people, judges or outcomes.

All of it is on one scale, 0 (harms) to 1 (helps), ½ where a step changes nothing, but for outcomes: their
label is the discounted chance to succeed (see `labels`), a first approximation that needs nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

from deskhand_agent.types import Trajectory
from deskhand_flywheel.opinions import Opinion, opinions
from deskhand_flywheel.prm.labels import labels_of
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepValue


class LabelSource(StrEnum):
    """Who says how good steps are."""

    MONTE_CARLO = "monte-carlo"
    """Continuations: `StepValue.label`."""
    HUMAN = "human"
    """People: the mean of their scores of a step."""
    JUDGE = "judge"
    """Models that judge: of each step the score of the one that scored it last."""
    OUTCOME = "outcome"
    """How the episode ended: `labels.labels_of`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTarget:
    """What is to be said of one step."""

    trajectory_id: str
    step_index: int
    label: float
    """0 (harms) to 1 (helps)."""
    source: str
    """Who says so: "mc1:…", "human", "judge", "outcome"."""
    rationale: str | None = None
    """Why, in words."""
    error: float = 0.0
    """Standard error of the label."""
    value: float | None = None
    """0 to 1: chance to succeed from the state the step was decided in; None where nobody knows."""


Targets: TypeAlias = dict[tuple[str, int], StepTarget]
"""Trajectory id and step index -> target."""


async def targets_from(
    store: Store,
    sources: Sequence[LabelSource],
    trajectory_ids: Collection[str],
    *,
    labeller: str | None = None,
    judge: str | None = None,
    inexact: bool = False,
    discount: float = 0.95,
) -> Targets:
    """Targets of the steps of some trajectories.

    Where several sources speak of a step the first one named counts; rationale and value come from the first
    that has one.

    Args:
        labeller: whose Monte-Carlo values; None: the latest of each step.
        judge: whose scores of judges, "judge:MODEL@DIGEST"; None: the latest of each step.
        inexact: also values found from states that looked other than recorded.
        discount: of outcomes, see `labels.labels_of`.
    """
    wanted, found = set(trajectory_ids), Targets()
    for source in sources:
        match source:
            case LabelSource.MONTE_CARLO:
                values = await store.step_values(labeller=labeller, trajectory_ids=wanted)
                made = monte_carlo_targets(v for v in values if v.exact or inexact)
            case LabelSource.HUMAN | LabelSource.JUDGE:
                by_judge = source is LabelSource.JUDGE
                by = judge if by_judge and judge else source
                said = opinions(store, sources=(by,), newest=by_judge, trajectory_ids=wanted)
                made = judged_targets([each async for each in said], source)
            case LabelSource.OUTCOME:
                made = [
                    target
                    async for trajectory in store.each_trajectory(sorted(wanted))
                    for target in outcome_targets([trajectory], discount=discount)
                ]
        for target in made:
            _add(found, target)
    return found


def monte_carlo_targets(values: Iterable[StepValue]) -> list[StepTarget]:
    """Of a step's values the last counts."""
    latest = {(value.trajectory_id, value.step_index): value for value in values}
    return [
        StepTarget(
            trajectory_id=value.trajectory_id,
            step_index=value.step_index,
            label=value.label,
            source=value.labeller,
            error=value.label_error,
            value=value.before,
        )
        for value in latest.values()
    ]


def judged_targets(said: Iterable[Opinion], source: LabelSource) -> list[StepTarget]:
    """The mean of what was said of a step, and the first rationale there is; opinions come step by step."""
    made: list[StepTarget] = []
    for (trajectory_id, step_index), group in groupby(said, lambda o: (o.trajectory_id, o.step_index)):
        of_step = list(group)
        made.append(
            StepTarget(
                trajectory_id=trajectory_id,
                step_index=step_index,
                label=sum(o.label for o in of_step) / len(of_step),
                source=source,
                rationale=next((o.rationale for o in of_step if o.rationale), None),
            )
        )
    return made


def outcome_targets(trajectories: Iterable[Trajectory], *, discount: float = 0.95) -> list[StepTarget]:
    """Of the trajectories that have a verdict."""
    return [
        StepTarget(
            trajectory_id=trajectory.id,
            step_index=label.step_index,
            label=label.label,
            source=LabelSource.OUTCOME,
            value=label.value,
        )
        for trajectory in trajectories
        for label in labels_of(trajectory, discount=discount)
    ]


def by_step(targets: Iterable[StepTarget]) -> Targets:
    """The same by trajectory and step, the first of a step counting."""
    found = Targets()
    for target in targets:
        _add(found, target)
    return found


def _add(found: Targets, target: StepTarget) -> None:
    key = target.trajectory_id, target.step_index
    first = found.setdefault(key, target)
    found[key] = replace(
        first,
        rationale=first.rationale or target.rationale,
        value=target.value if first.value is None else first.value,
    )
