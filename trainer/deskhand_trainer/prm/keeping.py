"""What is kept with a process reward model: how it came about, and what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from deskhand_agent.types import Trajectory
from deskhand_flywheel.lineage import MATERIAL
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.prm.material import Material, Unit, unit_name
from deskhand_trainer.prm.train import PrmReport


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
    unit, trained = metadata.get("unit"), metadata.get("trained")
    if not isinstance(trained, list):
        return True
    return unit_name(trajectory, cast("Unit", cast(Any, unit))) in trained
