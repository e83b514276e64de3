"""Learning from pairs as a run: what policies played on train seeds, successes against failures."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
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
from deskhand_trainer.preferences.outcomes import played
from deskhand_trainer.preferences.pairs import Pair, Played, first_reply_pairs, trajectory_pairs
from deskhand_trainer.preferences.train import train_preferences
from deskhand_trainer.rollouts import to_learn_from
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.training_thread import Teller, stopping
from deskhand_trainer.vlm import VlmActorCritic

UNKNOWN = "have turns whose ids are unknown, or of another processor than the policy's"
PAIRING = {"tdpo": trajectory_pairs, "refuel": first_reply_pairs}


async def run(context: RunContext, config: PreferenceConfig) -> tuple[str, dict[str, JsonValue]]:
    """Pair, train, keep."""
    device = learning_device(config.device)
    admit(config)
    bundle = await context.bundle()
    pairs, left_out = await _pairs(context, bundle, config)
    if not pairs:
        without = f" ({len(left_out)} episodes {UNKNOWN})" if left_out else ""
        raise RunRefused(f"the store holds no pairs of {', '.join(config.tasks)}{without}: {_wanted(config)}")
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
    metrics: dict[str, JsonValue] = {**asdict(report), "left_out": len(left_out)}
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


async def _pairs(
    context: RunContext, bundle: ModelBundle, config: PreferenceConfig
) -> tuple[list[Pair], Sequence[str]]:
    """Pairs, and ids of the episodes that were left out because those of their turns are unknown."""
    if config.pairs == "corrections":
        return await _corrected(context, bundle, config), ()
    if config.pairs == "others":
        return await _not_taken(context, bundle, config), ()
    chosen = TrajectoryFilter(
        task_ids=config.tasks, split=Split.TRAIN, labels={"purpose": "rollout"}, ended=True
    )
    found: list[Played] = []
    left_out: list[str] = []
    async for trajectory in context.read(await context.settled_episodes(chosen)):
        if not to_learn_from(trajectory):
            continue
        whole = played(trajectory, bundle.processor_hash)
        if whole is None:
            left_out.append(trajectory.id)
        else:
            found.append(whole)
    if left_out:
        few: list[JsonValue] = [*left_out[:10]]
        await context.reporter.alarm(
            "episodes_left_out", {"count": len(left_out), "episodes": few, "why": UNKNOWN}
        )
    draw = random.Random(f"{config.seed}/pairs")
    return PAIRING[config.method](found, limit=config.pairs_per_task, draw=draw), left_out


async def _corrected(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, labels=REVIEWED, ended=True)
    read = context.read(await context.settled_episodes(chosen))
    return correction_pairs([each async for each in read], bundle, limit=config.pairs_per_task)


async def _not_taken(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, ended=True)
    read = context.read(await context.settled_episodes(chosen))
    drawn = [each async for each in read if any(step.decision.others for step in each.steps)]
    return other_pairs(drawn, bundle, margin=config.margin, limit=config.pairs_per_task)
