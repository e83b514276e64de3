"""Learning from pairs as a run: what policies played on train seeds, successes against failures."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import asdict, replace

from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_agent.reviewing import REVIEWED
from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import admit
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.corrections import correction_pairs, proposal
from deskhand_trainer.preferences.others import Key, lowest, other_pairs
from deskhand_trainer.preferences.outcomes import played
from deskhand_trainer.preferences.pairs import Pair, Played, parting_pairs, partners, trajectory_pairs
from deskhand_trainer.preferences.train import train_preferences
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.training_thread import Teller, stopping
from deskhand_trainer.vlm import VlmActorCritic

UNKNOWN = "have turns whose ids are unknown, or of another processor than the policy's"
PAIRING = {"tdpo": trajectory_pairs, "refuel": parting_pairs}


async def run(context: RunContext, config: PreferenceConfig) -> tuple[str, dict[str, JsonValue]]:
    """Pair, train, keep."""
    device = learning_device(config.device)
    admit(config)
    bundle = await context.bundle()
    pairs, left_out = await _pairs(context, bundle, config)
    if not pairs:
        without = f" ({len(left_out)} episodes {UNKNOWN})" if left_out else ""
        raise RunRefused(f"the store holds no pairs of {', '.join(config.tasks)}{without}: {_wanted(config)}")
    told_of = Teller(context, "preferences", "prefer")
    async with stopping() as should_stop:
        report = await asyncio.to_thread(
            train_preferences,
            VlmActorCritic(bundle.to(device), precision=config.precision),
            pairs,
            config,
            progress=told_of,
            checkpoint_dir=context.folder.checkpoints,
            should_stop=should_stop,
        )
    await told_of.all_told()
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
            "submit --setting test_time.samples=4 --setting test_time.choose=judge --setting "
            "test_time.judge=ID` draws them"
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
    return await _of_outcomes(context, bundle, config)


async def _of_outcomes(
    context: RunContext, bundle: ModelBundle, config: PreferenceConfig
) -> tuple[list[Pair], Sequence[str]]:
    """Chosen by start states and verdicts; of episodes only those are read, and others in place of those that
    will not do."""
    chosen = TrajectoryFilter(
        task_ids=config.tasks, split=Split.TRAIN, labels={"purpose": "rollout"}, ended=True, min_steps=1
    )
    starts = await context.store.starts(chosen)
    won = await context.settled_episodes(replace(chosen, outcome=OutcomeFilter.SUCCESS))
    lost = await context.settled_episodes(replace(chosen, outcome=OutcomeFilter.FAILURE))
    draw = random.Random(f"{config.seed}/pairs")
    found: list[Pair] = []
    left_out: list[str] = []
    while wanted := partners(
        won,
        lost,
        starts,
        unlike=config.method == "tdpo",
        taken=Counter(pair.task_id for pair in found),
        limit=config.pairs_per_task,
        draw=draw,
    ):
        whole: dict[str, Played] = {}
        try:
            async for trajectory in context.read(i for two in wanted for i in two):
                if (each := played(trajectory, bundle.processor_hash)) is None:
                    left_out.append(trajectory.id)
                else:
                    whole[trajectory.id] = each
        except RunRefused:
            if not found:
                raise
        for two in wanted:
            sides = [whole[i] for i in two if i in whole]
            # one whose partner will not do waits for another
            over = two if len(sides) == 2 else [i for i in two if i not in whole]
            for i in over:
                del starts[i]
            found += PAIRING[config.method](sides, limit=1, draw=draw)
    if left_out:
        few: list[JsonValue] = [*left_out[:10]]
        await context.reporter.alarm(
            "episodes_left_out", {"count": len(left_out), "episodes": few, "why": UNKNOWN}
        )
    return found, left_out


async def _corrected(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, labels=REVIEWED, ended=True)
    found: list[Pair] = []
    async for each in _with_turns(context, chosen, lambda step: proposal(step) is not None):
        left = config.pairs_per_task - sum(pair.task_id == each.start.task.id for pair in found)
        found += correction_pairs([each], bundle, limit=left)
    return found


async def _not_taken(context: RunContext, bundle: ModelBundle, config: PreferenceConfig) -> list[Pair]:
    chosen = TrajectoryFilter(task_ids=config.tasks, split=Split.TRAIN, ended=True)
    found: list[Pair] = []
    known: set[Key] = set()

    def rated(step: Step) -> bool:
        return lowest(step.decision, margin=config.margin) is not None

    async for each in _with_turns(context, chosen, rated):
        left = config.pairs_per_task - sum(pair.task_id == each.start.task.id for pair in found)
        found += other_pairs([each], bundle, margin=config.margin, limit=left, known=known)
    return found


async def _with_turns(
    context: RunContext, chosen: TrajectoryFilter, wanted: Callable[[Step], bool]
) -> AsyncGenerator[Trajectory]:
    """Episodes that have such a turn, a few at a time in memory; of the others no picture is read."""
    ids, having = await context.settled_episodes(chosen), set[str]()
    # what cannot be read is told of when it is read again
    async for each in context.store.each_trajectory(ids, on_damaged=lambda i, _: having.add(i)):
        if any(map(wanted, each.steps)):
            having.add(each.id)
    async for each in context.read(i for i in ids if i in having):
        yield each
