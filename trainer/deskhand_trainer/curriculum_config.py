"""What can be said about the order in which a task is learned: stages before it, horizons within it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deskhand_trainer.choices import NOT_STORED, Rollouts
from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class CurriculumConfig:
    """Iterations before whole episodes in which an episode is one reply to a screen of a demonstration
    (CRAFT-GUI, Mobile-R1). They are the loop's first ones, and need no sandbox."""

    format: int = field(default=0, metadata=bounds(0))
    """First iterations: a reply is paid for holding an action."""
    single_step: int = field(default=0, metadata=bounds(0))
    """Iterations after those: it is paid for how near its action is to the expert's."""

    @property
    def iterations(self) -> int:
        """Before the first whole episode."""
        return self.format + self.single_step


def refuse_stages(
    curriculum: CurriculumConfig, played: str, *, critic: bool, remembers: bool, skips_void: bool
) -> None:
    """
    Args:
        played: how whole episodes are: the config's rollouts, or "cloning".
        critic: whether one says what was to be expected.
        remembers: whether replies of earlier iterations are learned again.
        skips_void: whether replies without an action are left out of the policy loss.

    Raises:
        ValueError: stages of single replies do not go with that.
    """
    if not curriculum.iterations:
        return
    if played != "batch":
        raise ValueError(
            f"curriculum: its stages come before batches of the policy's own episodes, and {played} ones are "
            "not that: leave curriculum out"
        )
    if critic:
        raise ValueError(
            "curriculum: a critic would expect of whole episodes what single replies were paid: take an "
            "advantage without one, such as grpo, or leave curriculum out"
        )
    if remembers:
        raise ValueError(
            "curriculum: no store holds its single replies, to learn them again: leave replay, "
            "self_imitation and the advantage 'archer' out, or curriculum"
        )
    if curriculum.format and skips_void:
        raise ValueError(
            "curriculum: its format stage tells replies that hold an action from those that hold none, and "
            "skip_void leaves the latter out: leave skip_void or curriculum.format out"
        )


def refuse_horizons(limits: Sequence[int], rollouts: Rollouts, *, after: int, every: int, most: int) -> None:
    """
    Args:
        limits: turn limits, one after another.
        rollouts: where episodes come from.
        after: iterations of a curriculum before the first.
        every: iterations each of them holds.
        most: iterations there are.

    Raises:
        ValueError: they would cut off nothing, or not all of them would begin; says what would let them.
    """
    if limits and rollouts in NOT_STORED:
        raise ValueError(
            f"turn_limits cut off what the policy plays alone, and {rollouts} episodes are not that: leave "
            "turn_limits out"
        )
    if after >= most:
        raise ValueError(
            f"curriculum: {after} iterations of single replies leave whole episodes none of {most}: lower "
            f"curriculum.format or curriculum.single_step, or set iterations {after + 1} or more"
        )
    last = max(0, len(limits) - 1)
    if after + last * every >= most:
        shorter = (most - 1 - after) // last
        near = f"turn_limit_every {shorter} or " if shorter else ""
        staged = f" and {after} of the curriculum" if after else ""
        raise ValueError(
            f"turn_limits: the last of {last + 1} begins after {last} times {every} iterations{staged}, and "
            f"there are {most}: try {near}iterations {after + last * every + 1}"
        )
