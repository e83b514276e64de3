"""The process reward model: trained on what the store holds, then every whole trajectory scored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict

from deskhand_flywheel.prm.scoring import ProcessRewardModel, score_store
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.config import ScoreConfig
from deskhand_trainer.prm_training import train_reward_model
from deskhand_trainer.run_kinds.context import RunContext


async def run(context: RunContext, config: ScoreConfig) -> tuple[str, dict[str, JsonValue]]:
    """Train, keep, score."""
    bundle = await context.bundle()
    context.folder.progress("reading trajectories", 0, config.epochs)
    ids = await _newest(context, config.max_trajectories)
    trajectories = [t async for t in context.read(ids)]
    head, report = await asyncio.to_thread(
        train_reward_model,
        bundle,
        trajectories,
        config,
        progress=lambda done, total: context.folder.progress("training the reward model", done, total),
    )
    model = ProcessRewardModel(bundle, head)
    folder = context.folder.path / "reward_model"
    await asyncio.to_thread(model.save, folder)
    figures: dict[str, JsonValue] = {**asdict(report), "trajectories": len(trajectories)}
    kept = await context.keep(folder, {"reward_model": True, "training": dict(figures)})
    damaged: dict[str, str] = {}
    scored = await score_store(
        context.store,
        model,
        _of_round(context.spec.labels),
        progress=lambda done, total: context.folder.progress("scoring", done, total),
        on_damaged=lambda each, error: damaged.update({each: str(error)}),
    )
    await context.told_of(damaged)
    figures |= {"scored": scored, "scorer": model.scorer}
    await context.reporter.metric("score", figures, step=0)
    return kept, figures


async def _newest(context: RunContext, count: int) -> tuple[str, ...]:
    """Train-split trajectories with a verdict, successes and failures by half as far as there are."""
    parts = [
        await context.store.trajectory_ids(TrajectoryFilter(split=Split.TRAIN, ended=True, outcome=outcome))
        for outcome in (OutcomeFilter.SUCCESS, OutcomeFilter.FAILURE)
    ]
    fewer = min(len(p) for p in parts)
    half = max(count // 2, count - fewer)
    chosen = [i for p in parts for i in p[-half:]]
    return tuple(sorted(chosen)[-count:])


def _of_round(labels: Mapping[str, str]) -> TrajectoryFilter:
    """The round's trajectories where the run belongs to one, the train split's otherwise."""
    mine = {"round": labels["round"]} if "round" in labels else {}
    return TrajectoryFilter(split=Split.TRAIN, ended=True, labels=mine)
