"""What is kept with a process reward model: how it came about, and what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from deskhand_agent.types import Trajectory
from deskhand_flywheel.lineage import MATERIAL
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.material import Material, Unit, named
from deskhand_trainer.prm.train import PrmReport
from deskhand_trainer.starts import has_one_start


def figures_of(report: PrmReport) -> dict[str, JsonValue]:
    """The report as flat figures, without the names of what was trained on."""
    figures = asdict(report)
    del figures["trained"]
    return figures


def about(config: ScoreConfig, report: PrmReport, material: Material) -> dict[str, JsonValue]:
    """Metadata of a model that was just trained on this material; what is named there is never collected."""
    return {
        "reward_model": True,
        "training": figures_of(report),
        "labels": [*config.labels],
        "unit": report.unit,
        "trained": [*report.trained],
        MATERIAL: [each.id for each in material.trajectories],
    }


def was_trained_on(metadata: Mapping[str, JsonValue], trajectory: Trajectory) -> bool:
    """Whether a model's metadata name the trajectory's task, start or id among what it was trained on; where
    they say nothing, it may have been."""
    start = trajectory.start.task
    return bool(_trained_on(metadata, {trajectory.id: (start.id, start.seed)}))


async def trained_on(
    store: Store, metadata: Mapping[str, JsonValue], chosen: TrajectoryFilter
) -> frozenset[str]:
    """Ids of those that a filter lets through and `was_trained_on` says yes of."""
    return _trained_on(metadata, await store.starts(chosen))


def _trained_on(metadata: Mapping[str, JsonValue], starts: Mapping[str, tuple[str, int]]) -> frozenset[str]:
    trained = metadata.get("trained")
    if not isinstance(trained, list):
        return frozenset(starts)
    unit, names = cast("Unit", cast(Any, metadata.get("unit"))), {*map(str, trained)}
    if unit == "start":
        # older records name the seeds of tasks that have one start, too
        names |= {task for task, _, _ in (name.rpartition("#") for name in names) if has_one_start(task)}
    return frozenset(each for each, start in starts.items() if named(unit, each, *start) in names)
