"""What a process reward model is trained on and measured on: labelled episodes of the store.

Held-out tasks and seeds are never trained on. Of the rest a share of the tasks is kept from training too, or
of the start states where there are few tasks: whatever is said of unseen steps is said of unseen tasks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import NoLabels
from deskhand_flywheel.prm.targets import LabelSource, Targets, targets_from
from deskhand_flywheel.store import Store
from deskhand_flywheel.trajectories import OnDamaged
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_sandbox.types import Split
from deskhand_trainer.demonstrations import Choose
from deskhand_trainer.prm.config import ScoreConfig
from deskhand_trainer.starts import start_name

Unit: TypeAlias = Literal["task", "start", "trajectory"]
"""What is kept from training as a whole."""

_VERDICTS = (OutcomeFilter.SUCCESS, OutcomeFilter.FAILURE)
ENOUGH_TASKS = 4
"""So many of them are parted by task, fewer by start state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """Labelled episodes."""

    trajectories: tuple[Trajectory, ...]
    """With pictures."""
    targets: Targets
    """Of their steps."""
    passed_over: int = 0
    """Labelled episodes besides that were not to be among them."""
    cut: int = 0
    """Labelled episodes besides that are older than as many as there may be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parted:
    """Episodes to train on, and others to measure on."""

    train: tuple[Trajectory, ...]
    held: tuple[Trajectory, ...]
    unit: Unit
    trained: tuple[str, ...]
    """Names of what was trained on, by unit: `unit_name`."""


async def training_material(
    store: Store,
    config: ScoreConfig,
    *,
    choose: Choose | None = None,
    progress: Callable[[int, int], None] | None = None,
    on_damaged: OnDamaged | None = None,
) -> Material:
    """The newest labelled episodes that may be trained on.

    Args:
        choose: of what may be learned from; where the config names runs, it is asked nothing. None: of all.
        progress: told episodes read and in all.
        on_damaged: told of each that cannot be read, which is left out; None: the first ends it.
    """
    chosen = TrajectoryFilter(split=Split.TRAIN, ended=True)
    refused = tuple(sorted(HELD_OUT_TASKS | set(config.leave_out)))
    never = set(await store.trajectory_ids(replace(chosen, task_ids=refused)))
    choose = None if config.runs else choose
    return await _read(store, config, chosen, choose, never, progress, on_damaged)


async def measuring_material(
    store: Store,
    config: ScoreConfig,
    chosen: TrajectoryFilter,
    *,
    never: Collection[str] = frozenset(),
    progress: Callable[[int, int], None] | None = None,
    on_damaged: OnDamaged | None = None,
) -> Material:
    """The newest labelled episodes that a filter lets through, of any task and split.

    Args:
        never: ids of those that are not to be among them, as `keeping.trained_on` finds them.
        progress, on_damaged: as in `training_material`.
    """
    return await _read(store, config, replace(chosen, ended=True), None, never, progress, on_damaged)


def part(trajectories: Sequence[Trajectory], *, share: float, seed: int) -> Parted:
    """Keep a share from training.

    Raises:
        NoLabels: fewer than two episodes.
    """
    if len(trajectories) < 2:
        raise NoLabels(
            f"{len(trajectories)} labelled episodes: a process reward model needs 2 or more; collect some, "
            "and label them with `deskhand prm label`"
        )
    unit = _unit(trajectories)
    names = sorted({unit_name(each, unit) for each in trajectories})
    random.Random(seed).shuffle(names)
    cut = min(len(names) - 1, max(1, round(share * len(names))))
    held = set(names[:cut])
    return Parted(
        train=tuple(t for t in trajectories if unit_name(t, unit) not in held),
        held=tuple(t for t in trajectories if unit_name(t, unit) in held),
        unit=unit,
        trained=tuple(sorted(names[cut:])),
    )


def unit_name(trajectory: Trajectory, unit: Unit) -> str:
    """What an episode belongs to: its task, its start state or itself."""
    return named(unit, trajectory.id, trajectory.start.task.id, trajectory.start.task.seed)


def named(unit: Unit, trajectory_id: str, task_id: str, seed: int) -> str:
    """As `unit_name`."""
    match unit:
        case "task":
            return task_id
        case "start":
            return start_name(task_id, seed)
        case "trajectory":
            return trajectory_id


def refuse_one_kind(targets: Targets) -> None:
    """
    Raises:
        NoLabels: there are no targets, or none of them differs from the others enough to be learned.
    """
    labels = [target.label for target in targets.values()]
    if not labels:
        raise NoLabels(
            "the store has no labels of these sources that may be trained on: `deskhand prm label` makes "
            "Monte-Carlo ones, people and judges leave scores, `--labels outcome` takes what episodes came to"
        )
    if not min(labels) < 0.5 < max(labels):
        raise NoLabels(
            f"all {len(labels)} labels lie between {min(labels):.2f} and {max(labels):.2f}, on one side of a "
            "half: a model learns nothing from one kind; label episodes that went otherwise too"
        )


async def _read(
    store: Store,
    config: ScoreConfig,
    chosen: TrajectoryFilter,
    choose: Choose | None,
    never: Collection[str],
    progress: Callable[[int, int], None] | None,
    on_damaged: OnDamaged | None,
) -> Material:
    sources = [LabelSource(each) for each in config.labels]
    told: dict[str, Any] = {
        "labeller": config.labeller or None,
        "judge": config.judge or None,
        "inexact": config.inexact,
    }
    choose = choose or partial(ids_of, store, runs=config.runs)
    ids = await choose(chosen)
    # of outcomes the verdict alone tells, without reading every step
    marking = [each for each in sources if each is not LabelSource.OUTCOME]
    having = {i for i, _ in await targets_from(store, marking, ids, **told)}
    if LabelSource.OUTCOME in sources:
        having |= {i for won in _VERDICTS for i in await choose(replace(chosen, outcome=won))}
    won = set(await choose(replace(chosen, outcome=OutcomeFilter.SUCCESS)))
    labelled = [i for i in ids if i in having]
    left = [i for i in labelled if i not in never]
    wanted = _newest(left, won, config.max_trajectories)
    trajectories: list[Trajectory] = []
    async for trajectory in store.each_trajectory(wanted, images=True, on_damaged=on_damaged):
        if trajectory.steps:
            trajectories.append(trajectory)
        if progress is not None:
            progress(len(trajectories), len(wanted))
    read = [each.id for each in trajectories]
    targets = await targets_from(store, sources, read, discount=config.discount, **told)
    return Material(
        trajectories=tuple(trajectories),
        targets=targets,
        passed_over=len(labelled) - len(left),
        cut=len(left) - len(wanted),
    )


async def ids_of(store: Store, chosen: TrajectoryFilter, runs: Sequence[str]) -> list[str]:
    """Ids of what a filter lets through, of these runs alone where there are some; oldest first."""
    if not runs:
        return [*await store.trajectory_ids(chosen)]
    by_run = [replace(chosen, labels={**chosen.labels, "run": run}) for run in runs]
    return sorted({each for one in by_run for each in await store.trajectory_ids(one)})


def _newest(ids: Sequence[str], won: Collection[str], count: int) -> list[str]:
    """The newest of them, successes and others by half as far as there are."""
    parts = [i for i in ids if i in won], [i for i in ids if i not in won]
    half = max(count // 2, count - min(map(len, parts)))
    return sorted([i for part in parts for i in part[-half:]])[-count:]


def _unit(trajectories: Sequence[Trajectory]) -> Unit:
    if len({each.start.task.id for each in trajectories}) >= ENOUGH_TASKS:
        return "task"
    starts = {unit_name(each, "start") for each in trajectories}
    return "start" if len(starts) > 1 else "trajectory"
