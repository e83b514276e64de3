"""The warm start as a run does it: pages from sandboxes, demonstrations from trajectories, then training."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Trajectory
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds
from deskhand_sandbox.types import Split, Task
from deskhand_trainer.base.collection import collect
from deskhand_trainer.base.pages import look
from deskhand_trainer.base.perception import refuse_released
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.errors import ConfigError, RunRefused
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.sft.train import SftReport, train_sft
from deskhand_trainer.types import TrainingSample, last_attempt


def perception_tasks(config: SftConfig) -> list[Task]:
    """Tasks and train seeds whose pages are looked at, tasks in turn.

    Raises:
        ConfigError: a held-out task is among them.
    """
    held_out = sorted(set(config.perception_tasks) & set(HELD_OUT_TASKS))
    if held_out:
        raise ConfigError(f"perception_tasks: {', '.join(held_out)} are held out and train nothing")
    if not config.perception_tasks:
        return []
    each = -(-config.perception_pages // len(config.perception_tasks))
    passed = config.perception_offset
    rows = [
        [(task, seed) for seed in seeds(task, Split.TRAIN, each, passed)] for task in config.perception_tasks
    ]
    paired = [pair for turn in zip(*rows, strict=False) for pair in turn]
    return [make_task(task, seed) for task, seed in paired[: config.perception_pages]]


async def run_sft(
    bundle: ModelBundle,
    trajectories: Iterable[Trajectory],
    source: SandboxSource,
    config: SftConfig,
    *,
    memory: WindowMemory | None = None,
    beside: Mapping[str, Sequence[TrainingSample]] | None = None,
    owner: str = "sft",
    concurrency: int = 4,
    on_page: Callable[[int, int], None] | None = None,
    progress: Callable[[StageProgress], None] | None = None,
    checkpoint_dir: Path | None = None,
    heads_from: Path | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SftReport:
    """Collect pages, turn demonstrations' last attempts into samples, and train the bundle's model in place.

    Args:
        trajectories: demonstrations, with image data.
        memory: the one rollouts will use.
        beside: see `train_sft`.
        on_page: told pages collected and in all.
        progress: called from the training thread.
        heads_from: see `train_sft`.

    Raises:
        ConfigError: a held-out task is asked for.
        InfrastructureError: pages could not be collected.
        RunRefused: there are demonstrations, and nothing is done in any; or see `train_sft`.
        RunStopped, CheckpointDamaged, DiskFull, TrainingDiverged: see `train_sft`.
    """
    to_see = perception_tasks(config)
    if to_see:
        refuse_released(bundle)
    shown = [*trajectories]
    samples = [
        turn for each in shown for turn in last_attempt(samples_from_trajectories([each], bundle, memory))
    ]
    if shown and not samples:
        raise RunRefused(f"none of {len(shown)} demonstrations has a turn with an action to imitate")
    pages = await collect(source, to_see, look, owner=owner, concurrency=concurrency, progress=on_page)
    return await asyncio.to_thread(
        train_sft,
        bundle,
        samples,
        pages,
        config,
        beside=beside,
        progress=progress,
        checkpoint_dir=checkpoint_dir,
        heads_from=heads_from,
        should_stop=should_stop,
    )
