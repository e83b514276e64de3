"""Learning from pairs as a run: what policies played on train seeds, successes against failures."""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict

from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_agent.reviewing import REVIEWED
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import admit
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.corrections import correction_pairs
from deskhand_trainer.preferences.others import other_pairs
from deskhand_trainer.preferences.pairs import Pair, Played, first_reply_pairs, trajectory_pairs
from deskhand_trainer.preferences.train import train_preferences
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.training_thread import Teller, stopping
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.vlm import VlmActorCritic

PAIRING = {"tdpo": trajectory_pairs, "refuel": first_reply_pairs}


async def run(context: RunContext, config: PreferenceConfig) -> tuple[str, dict[str, JsonValue]]:
    """Pair, train, keep."""
    device = learning_device(config.device)
    admit(config)
    bundle = await context.bundle()
    pairs = await _pairs(context, bundle, config)
    if not pairs:
        raise RunRefused(f"the store holds no pairs of {', '.join(config.tasks)}: {_wanted(config)}")
    async with stopping() as should_stop:
        report = await asyncio.to_thread(
            train_preferences,
            VlmActorCritic(bundle.to(device), precision=config.precision),
            pairs,
            config,
            progress=Teller(context, "preferences", "prefer"),
            checkpoint_dir=context.folder.checkpoints,
            should_stop=should_stop,
        )
    folder = context.folder.path / "trained"
    await asyncio.to_thread(save_bundle, bundle, folder)
    metrics: dict[str, JsonValue] = asdict(report)
    learned_from = (turn.trajectory_id for pair in pairs for side in pair.sides for turn in side)
    kept = await context.keep(folder, {"training": dict(metrics)}, learned_from=learned_from)
    await context.reporter.metric("prefer", metrics, step=report.steps)
    return kept, metrics


def _wanted(config: PreferenceConfig) -> str:
    if config.pairs == "corrections":
        return "nobody has replaced an action in them; `deskhand submit --review` asks for that"
    if config.pairs == "others":
        return (
            f"no turn of them was drawn several times with ratings {config.margin:g} apart, as `deskhand "
            "submit --setting samples=4 --setting choose=judge --setting judge=ID` draws them"
        )
    return (
        f"{config.method} needs several episodes of one start state that did not all end alike, as "
        "`deskhand train ppo --preset grpo` plays them"
    )


async def _pairs(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    if config.pairs == "corrections":
        return await _corrected(context, bundle, config)
    if config.pairs == "others":
        return await _not_taken(context, bundle, config)
    chosen = TrajectoryFilter(
        task_ids=config.tasks, split=Split.TRAIN, labels={"purpose": "rollout"}, ended=True
    )
    played: list[Played] = []
    async for trajectory in context.read(await context.settled_episodes(chosen)):
        samples = tuple(samples_from_trajectories([trajectory], bundle))
        end = trajectory.end
        if end is None or end.outcome is None or not samples:
            continue
        task = trajectory.start.task
        played.append(
            Played(
                task_id=task.id, seed=task.seed, samples=samples, outcome=end.outcome.score,
                success=end.outcome.success,
            )
        )  # fmt: skip
    return PAIRING[config.method](
        played, limit=config.pairs_per_task, draw=random.Random(f"{config.seed}/pairs")
    )


async def _corrected(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, labels=REVIEWED, ended=True)
    read = context.read(await context.settled_episodes(chosen))
    return correction_pairs([each async for each in read], bundle, limit=config.pairs_per_task)


async def _not_taken(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, ended=True)
    read = context.read(await context.settled_episodes(chosen))
    drawn = [each async for each in read if any(step.decision.others for step in each.steps)]
    return other_pairs(drawn, bundle, margin=config.margin, limit=config.pairs_per_task)
