"""A base model as a run: pages of train seeds are drawn, a model learns to see from them, and is kept."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from pathlib import Path

from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_agent.types import Trajectory
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.admission import admit
from deskhand_trainer.base.changes import CHANGES_PER_PAGE
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.deepening import deepened
from deskhand_trainer.base.drawing import draw_changes, draw_pages
from deskhand_trainer.base.experience import write_experience
from deskhand_trainer.base.fresh import fresh_base
from deskhand_trainer.base.pages import TASK
from deskhand_trainer.base.perception import refuse_released
from deskhand_trainer.base.train import pretrain
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.run_folder import FAILURES, write_json
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.demonstrations import demonstrations
from deskhand_trainer.run_kinds.training_thread import Teller, stopping
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.types import last_attempt


async def run(context: RunContext, config: PretrainConfig) -> tuple[str, dict[str, JsonValue]]:
    """Draw, train, keep."""
    learning_device(config.device)
    admit(config)
    bundle = await _bundle(context, config)
    refuse_released(bundle)
    shown = await _shown(context, config, bundle)
    turns = [turn for each in shown for turn in last_attempt(samples_from_trajectories([each], bundle))]
    train, held_out = await _pages(context, config)
    failures = await _failures(context) if config.experience else []
    taught: tuple[str, ...] = ()
    if config.experience:
        experience = await write_experience(context.folder.path / "experience", context.read(failures))
        train = [*train, *experience.shards]
        taught = experience.episodes
        if context.spec.dataset is not None and not taught:
            why = "it holds no failure of train seeds that shows what an action does: pages alone are learned"
            await context.reporter.alarm("no_experience", {"dataset": context.spec.dataset, "why": why})
    told_of = Teller(context, "pretraining", "pretrain")
    async with stopping() as should_stop:
        report = await asyncio.to_thread(
            pretrain,
            bundle,
            train,
            held_out,
            config,
            demonstrations=turns,
            progress=told_of,
            checkpoint_dir=context.folder.checkpoints,
            heads_from=None if context.spec.policy_in is None else context.policy_folder,
            should_stop=should_stop,
        )
    await told_of.all_told()
    folder = context.folder.path / "trained"
    await asyncio.to_thread(save_bundle, bundle, folder)
    await asyncio.to_thread(report.heads.save, folder)
    metrics: dict[str, JsonValue] = {
        **report.figures,
        "demonstrations": len(shown),
        "failures": len(taught),
        "experience_left_out": len(failures) - len(taught),
        "steps": report.steps,
        "training_seconds": report.seconds,
        "parameters": sum(each.numel() for each in bundle.model.parameters()),
    }
    described: dict[str, JsonValue] = {"training": dict(metrics), "config": asdict(config)}
    kept = await context.keep(folder, described, learned_from=[*taught, *(each.id for each in shown)])
    await context.reporter.metric("pretrain", metrics, step=report.steps)
    return kept, {**metrics, "curve": [dict(each) for each in report.curve]}


async def _bundle(context: RunContext, config: PretrainConfig) -> ModelBundle:
    if context.spec.policy_in is None:
        try:
            return fresh_base(config.model, seed=config.seed)
        except ValueError as error:
            raise RunRefused(f"field 'model': {error}") from error
    bundle = await context.bundle()
    try:
        return deepened(bundle, config.vision_depth) if config.vision_depth else bundle
    except ValueError as error:
        raise RunRefused(f"field 'vision_depth': {error}") from error


async def _shown(context: RunContext, config: PretrainConfig, bundle: ModelBundle) -> list[Trajectory]:
    """Demonstrations to imitate."""
    shown = await demonstrations(
        context, dict.fromkeys(config.demonstration_tasks, config.demonstrations_per_task)
    )
    if config.demonstration_tasks and not shown:
        raise RunRefused(
            "field 'demonstration_tasks': the store holds no demonstration of these tasks: collect some "
            "first (`deskhand train collect`), or name none"
        )
    if shown and bundle.memory.plan_tokens:
        raise RunRefused(
            "field 'demonstration_tasks': the policy plans, and demonstrations hold actions: start from one "
            "that acts, or name none"
        )
    return shown


async def _failures(context: RunContext) -> list[str]:
    """Ids of what policies did in vain on train seeds, the same in all lives of the run."""
    listed = context.folder.path / FAILURES
    if not listed.exists():
        chosen = TrajectoryFilter(
            split=Split.TRAIN, outcome=OutcomeFilter.FAILURE, labels={"purpose": "rollout"}, ended=True
        )
        held_out = set(await context.episodes(replace(chosen, task_ids=tuple(HELD_OUT_TASKS))))
        write_json(listed, [each for each in await context.episodes(chosen) if each not in held_out])
    return json.loads(listed.read_text())


async def _pages(context: RunContext, config: PretrainConfig) -> tuple[list[Path], list[Path]]:
    """Shards of train seeds and of validation seeds, in the run's folder."""
    pages = (config.pages, config.wide_pages, config.large_pages)
    worked = (config.change_pages, config.wide_change_pages, config.large_change_pages)
    wanted = [
        (draw, size, split, number)
        for draw, counts, held_out in (
            (draw_pages, pages, config.held_out_pages),
            (draw_changes, worked, -(-config.held_out_pages // CHANGES_PER_PAGE)),
        )
        for size, count in zip(SIZES_PX, counts, strict=True)
        if count
        for split, number in ((Split.TRAIN, count), (Split.VALIDATION, held_out))
    ]
    total, done = sum(number for *_, number in wanted), 0
    found: dict[Split, list[Path]] = {Split.TRAIN: [], Split.VALIDATION: []}

    def drawn(count: int) -> None:
        nonlocal done
        done += count
        context.folder.progress("drawing pages", done, total)

    async with context.sandboxes([TASK], concurrency=config.concurrency) as source:
        for draw, size, split, count in wanted:
            found[split] += await draw(
                source,
                context.folder.path / "pages",
                size,
                split,
                count,
                owner=context.spec.id,
                concurrency=config.concurrency,
                offset=config.seed_offset if split is Split.TRAIN else 0,
                progress=drawn,
            )
    return found[Split.TRAIN], found[Split.VALIDATION]
