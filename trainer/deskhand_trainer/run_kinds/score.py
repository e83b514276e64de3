"""The process reward model: trained on what the store holds, then every whole trajectory scored."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from deskhand_flywheel.errors import FlywheelError, NoLabels
from deskhand_flywheel.prm.scoring import ProcessRewardModel, score_store
from deskhand_flywheel.trajectories import OnDamaged
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.config import ScoreConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.prm.keeping import about, figures_of
from deskhand_trainer.prm.material import Material, refuse_one_kind, training_material
from deskhand_trainer.prm.train import train_reward_model
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.training_thread import stopping


async def run(context: RunContext, config: ScoreConfig) -> tuple[str | None, dict[str, JsonValue]]:
    """Train, keep, score. A later life scores by the model that an earlier one kept."""
    if context.spec.folders == () and not config.runs:
        # there is nothing to learn from, and the round goes on without
        return None, {"trajectories": 0, "scored": 0}
    damaged: dict[str, str] = {}

    def left_out(trajectory_id: str, error: FlywheelError) -> None:
        damaged[trajectory_id] = str(error)

    noted = context.folder.path / "kept.json"
    if not noted.exists():
        write_json(noted, await _train(context, config, left_out))
    kept, figures = json.loads(noted.read_text())
    model = await context.reward_model(kept, device=config.device)
    assert model is not None
    scored = 0
    for chosen in _to_score(context.spec.folders, config):
        scored += await score_store(
            context.store,
            model,
            chosen,
            progress=lambda done, total: context.folder.progress("scoring", done, total),
            on_damaged=left_out,
        )
    await context.reporter.unreadable(damaged)
    figures |= {"scored": scored, "scorer": model.scorer, "left_out": len(damaged)}
    await context.reporter.metric("score", figures, step=0)
    return kept, figures


async def _train(
    context: RunContext, config: ScoreConfig, left_out: OnDamaged
) -> tuple[str, dict[str, JsonValue]]:
    """Id of the model that is kept, and what its training came to.

    Raises:
        RunRefused: too few labels, or all of one kind.
    """
    bundle = await context.bundle()
    told = context.folder.progress
    told("reading trajectories", 0, config.epochs)
    material = await training_material(context.store, config, choose=context.episodes, on_damaged=left_out)
    if len(material.trajectories) > 1:
        await _mind_one_kind(context, material)
    try:
        async with stopping() as should_stop:
            trained = await asyncio.to_thread(
                train_reward_model,
                bundle,
                material,
                config,
                progress=lambda done, total: told("training the reward model", done, total),
                should_stop=should_stop,
            )
    except NoLabels as error:
        raise RunRefused(str(error)) from error
    folder = context.folder.path / "reward_model"
    await asyncio.to_thread(ProcessRewardModel(trained.bundle, trained.head).save, folder)
    kept = await context.keep(folder, about(config, trained.report, material))
    return kept, {**figures_of(trained.report), "trajectories": len(material.trajectories)}


async def _mind_one_kind(context: RunContext, material: Material) -> None:
    """Labels that are all alike teach nothing. A round, which has no others, goes on and says so.

    Raises:
        RunRefused: they are, and whoever asked may give others.
    """
    try:
        refuse_one_kind(material.targets)
    except NoLabels as error:
        if context.spec.folders is None:
            raise RunRefused(str(error)) from error
        await context.reporter.alarm("reward_labels_of_one_kind", {"why": str(error)})


def _to_score(folders: tuple[str, ...] | None, config: ScoreConfig) -> list[TrajectoryFilter]:
    """The named runs' trajectories, or the round's where the run belongs to one, or the train split's."""
    chosen = TrajectoryFilter(split=Split.TRAIN, ended=True)
    return [replace(chosen, labels={"run": run}) for run in config.runs] or [replace(chosen, folders=folders)]
