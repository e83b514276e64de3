"""Which tasks a run may work at, and at which of their seeds.

None held out where it trains, but for a probe, whose policy nothing starts from; and none that nothing is
known to solve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.config import (
    CollectConfig,
    EvaluateConfig,
    LabelConfig,
    PpoConfig,
    PreferenceConfig,
    PretrainConfig,
    SftConfig,
)
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.rollouts import right_answer
from deskhand_trainer.self_play import GAMES

UNVERIFIED = "none"
"""The verifier of tasks that have none."""
NEVER_GO_BACK = frozenset({"browser", "desktop"})
"""Kinds of sandbox that keep no state; of the others each says itself whether it does."""
PROBE_OFFSET, HELD_OUT_VALIDATION_OFFSET = 200_000, 100_000
"""Where a probe's seeds begin, and those that choose something: of held-out tasks every seed is test."""


def admit(config: object) -> None:
    """Refuse what a run would not begin with: tasks it may not work at, settings that do nothing at them.

    Args:
        config: a run's; one of another kind says nothing of tasks.

    Raises:
        RunRefused: names the task or the setting.
    """
    match config:
        case CollectConfig():
            refuse_held_out(config.tasks)
            sandbox_kinds(config.tasks)
            refuse_unverified(config.tasks)
            if config.policy == "scripted":
                refuse_without_oracle(config.tasks)
            else:
                refuse_unproven(config.tasks, allowed=config.unproven)
        case LabelConfig():
            sandbox_kinds(config.tasks)
        case SftConfig():
            refuse_held_out(config.tasks)
            refuse_held_out(config.perception_tasks, field="perception_tasks")
            sandbox_kinds((*config.tasks, *config.perception_tasks))
            if others := set(config.hard_tasks) - set(config.tasks):
                told = f"field 'hard_tasks': {', '.join(sorted(others))} must stand in 'tasks' too"
                raise RunRefused(told, "hard_tasks")
        case PretrainConfig():
            refuse_held_out(config.demonstration_tasks, field="demonstration_tasks")
        case PreferenceConfig():
            refuse_held_out(config.tasks)
            sandbox_kinds(config.tasks)
        case PpoConfig():
            refuse_without_seeds(config.tasks, loop_seeds(config.tasks, probe=config.probe))
            sandbox_kinds(config.tasks)
            refuse_unproven(config.tasks, allowed=config.unproven)
            refuse_unverified(config.tasks, judged=config.outcome.by != "verifier")
            refuse_idle(config)
            refuse_without_snapshots(config)
        case EvaluateConfig():
            sandbox_kinds(config.tasks)
            refuse_unproven(config.tasks, allowed=config.unproven)
            refuse_unverified(config.tasks)
        case _:
            return


def sandbox_kinds(tasks: Iterable[str]) -> set[str]:
    """Kinds of sandbox the tasks need.

    Raises:
        RunRefused: there is none, or no such task; says which come near.
    """
    try:
        kinds = {make_task(task, 0).environment.kind for task in tasks}
    except (UnknownName, InvalidTask) as error:
        raise RunRefused(str(error)) from error
    if not kinds:
        raise RunRefused("field 'tasks': name at least one task")
    return kinds


def refuse_held_out(tasks: Sequence[str], *, field: str = "tasks") -> None:
    """Held-out tasks are never trained on.

    Args:
        field: where the tasks stand.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    held = sorted(set(tasks) & set(HELD_OUT_TASKS))
    if held:
        raise RunRefused(f"{', '.join(held)}: held-out tasks are never trained on; take others", field)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopSeeds:
    """Where the seeds of an online loop come from; no two of training, choosing and reporting overlap."""

    split: Split
    """Of training."""
    offset: int
    """Where training begins, before what the config adds."""
    validation: Split
    """Of choosing the checkpoint."""
    validation_offset: int


def loop_seeds(tasks: Sequence[str], *, probe: bool) -> LoopSeeds:
    """Train and validation seeds; a probe's are test seeds, far behind those that are reported on.

    Raises:
        RunRefused: a held-out task and no probe, or a probe of any other task; names it.
    """
    if not probe:
        refuse_held_out(tasks)
        return LoopSeeds(split=Split.TRAIN, offset=0, validation=Split.VALIDATION, validation_offset=0)
    others = sorted(set(tasks) - HELD_OUT_TASKS)
    if others:
        raise RunRefused(f"{', '.join(others)}: a probe is of held-out tasks alone; leave `probe` out")
    return LoopSeeds(
        split=Split.TEST,
        offset=PROBE_OFFSET,
        validation=Split.TEST,
        validation_offset=HELD_OUT_VALIDATION_OFFSET,
    )


def refuse_without_seeds(tasks: Sequence[str], wanted: LoopSeeds) -> None:
    """A task with one start state has it in one split: a loop cannot both train and be validated on it.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    for task in tasks:
        try:
            seeds(task, wanted.split, 1, wanted.offset)
            seeds(task, wanted.validation, 1, wanted.validation_offset)
        except InvalidTask as error:
            raise RunRefused(
                f"field 'tasks': {error}, and a loop needs {wanted.split.value} and "
                f"{wanted.validation.value} seeds of every task: take tasks with several start "
                "states, or collect episodes of this one and learn from these "
                "(`deskhand train collect`, `sft`)",
                "tasks",
            ) from error


def measured_on(task: str, split: Split, offset: int) -> tuple[Split, int]:
    """Which seeds success on a task is measured by: a split, and where in it to begin.

    A held-out task has test seeds only: its validation is by those far behind what is reported.
    """
    if split is Split.VALIDATION and task in HELD_OUT_TASKS:
        return Split.TEST, HELD_OUT_VALIDATION_OFFSET + offset
    return split, offset


def only_measured(policy_id: str) -> str:
    """Why nothing starts from a policy that came out of a probe."""
    return f"{policy_id} came out of a probe of held-out tasks: it is only measured"


def is_probe(metadata: Mapping[str, JsonValue]) -> bool:
    """Whether a policy's metadata say that it came out of a probe."""
    return bool(metadata.get("probe", False))


def refuse_unproven(tasks: Sequence[str], *, allowed: bool) -> None:
    """A task without an oracle may be broken: what is learned or reported from it may be noise.

    Args:
        allowed: the config's `unproven`.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    without = sorted(set(tasks) - set(oracle_tasks()))
    if without and not allowed:
        raise RunRefused(
            f"{', '.join(without)}: nothing is known to solve it, so nothing shows that it can be solved; "
            "take tasks that `deskhand tasks list` marks with an oracle, or set unproven=true"
        )


def refuse_unverified(tasks: Sequence[str], *, judged: bool = False) -> None:
    """A task without a verifier says of no episode how it came out.

    Args:
        judged: a judge does in its place.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    without = sorted(task for task in set(tasks) if make_task(task, 0).verifier.name == UNVERIFIED)
    if without and not judged:
        raise RunRefused(
            f"{', '.join(without)}: no verifier says how an episode came out; PPO can be paid by a judge "
            "instead: set outcome.by, outcome.judge and outcome.model"
        )


def refuse_without_oracle(tasks: Sequence[str]) -> None:
    """The scripted policy works at tasks that have an oracle.

    Raises:
        RunRefused: there is one without among the tasks; names it, and those that have one.
    """
    without = sorted(set(tasks) - set(oracle_tasks()))
    if without:
        raise RunRefused(f"no oracle for {', '.join(without)}: there are {', '.join(oracle_tasks())}")


def refuse_idle(config: PpoConfig) -> None:
    """
    Raises:
        RunRefused: a setting would do nothing at any of the tasks.
    """
    tasks = [make_task(task, 0) for task in config.tasks]
    if config.information_weight > 0 and all(right_answer(task) is None for task in tasks):
        raise RunRefused(
            "field 'information_weight': it pays for what makes the right answer likelier, and none of the "
            "tasks has one written down, as desk/calculate has: take such a task, or set "
            "information_weight=0",
            "information_weight",
        )
    limits, longest = config.turn_limits, max(task.limits.turns for task in tasks)
    if len(limits) > 1 and min(limits) >= longest:
        raise RunRefused(
            f"field 'turn_limits': they grow from {limits[0]}, and the tasks end after {longest} turns "
            "anyway: begin with fewer, or take longer tasks",
            "turn_limits",
        )
    for name in ("success_band", "entropy_band"):
        band: tuple[float, float] | None = getattr(config, name)
        if band is not None and band[0] > band[1]:
            raise RunRefused(
                f"field {name!r}: nothing lies between {band[0]:g} and {band[1]:g}: give the lower one first",
                name,
            )
    if config.progress_bonus > 0 and config.attempts == 1:
        raise RunRefused(
            "field 'progress_bonus': it pays for what a later attempt gains, and there is one: set "
            "attempts=2, or leave it out",
            "progress_bonus",
        )
    if config.progress_bonus > 0 and config.outcome.by == "judge":
        raise RunRefused(
            "field 'progress_bonus': the first attempt has its verifier's score and the episode the judge's, "
            "and these are not compared: set outcome.by=verifier, or leave it out",
            "progress_bonus",
        )
    others = sorted(set(config.tasks) - set(GAMES)) if config.rollouts == "self_play" else []
    if others:
        raise RunRefused(
            f"field 'rollouts': {', '.join(others)} cannot be played by both sides; {', '.join(GAMES)} can",
            "rollouts",
        )


def refuse_without_snapshots(config: PpoConfig) -> None:
    """
    Raises:
        RunRefused: rollouts are to branch, and at one of the tasks there is no state to go back to.
    """
    if not config.branches:
        return
    without = [task for task in config.tasks if make_task(task, 0).environment.kind in NEVER_GO_BACK]
    if without:
        raise RunRefused(
            f"field 'branches': {', '.join(without)} cannot go back to where a rollout was left: take "
            "others, such as worlds/chain, or leave branches at 0",
            "branches",
        )
