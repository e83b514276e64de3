"""Which tasks a run may work at, and at which of their seeds.

None held out where it trains, but for a probe, whose policy nothing starts from; and none that nothing is
known to solve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_sandbox.types import JsonValue, Split
from deskhand_trainer.errors import RunRefused

UNVERIFIED = "none"
"""The verifier of tasks that have none."""
PROBE_OFFSET, HELD_OUT_VALIDATION_OFFSET = 200_000, 100_000
"""Where a probe's seeds begin, and those that choose something: of held-out tasks every seed is test."""


def refuse_held_out(tasks: Sequence[str]) -> None:
    """Held-out tasks are never trained on.

    Raises:
        RunRefused: there is one among the tasks; names it.
    """
    held = sorted(set(tasks) & set(HELD_OUT_TASKS))
    if held:
        raise RunRefused(f"{', '.join(held)}: held-out tasks are never trained on; take others")


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
