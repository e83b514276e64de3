"""How a turn behaved, and what that costs: a small rule each for void turns, format, repetition and length.

What a rule says lies between 0 and 1 and is weighed by the config's field of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deskhand_agent.episode import told_again
from deskhand_agent.types import Step
from deskhand_trainer.shaping_config import ShapingConfig
from deskhand_trainer.types import Conduct


def void_turn(turn: Conduct, shaping: ShapingConfig) -> float:
    """1 where the reply held no action."""
    return float(turn.void)


def mended_format(turn: Conduct, shaping: ShapingConfig) -> float:
    """1 where it could only be read when it was mended."""
    return float(turn.mended)


def repetition(turn: Conduct, shaping: ShapingConfig) -> float:
    """1 where the turn before had done the same in vain."""
    return float(turn.repeated)


def excess_length(turn: Conduct, shaping: ShapingConfig) -> float:
    """max(0, tokens − free)/longest; 0 where the longest is not known."""
    return max(0, turn.tokens - shaping.free_tokens) / turn.longest if turn.longest else 0.0


RULES: Mapping[str, Callable[[Conduct, ShapingConfig], float]] = {
    "void": void_turn,
    "format": mended_format,
    "repetition": repetition,
    "length": excess_length,
}
"""By their names in `ShapingConfig`."""


def conduct_of(steps: Sequence[Step]) -> tuple[Conduct, ...]:
    """How each turn of an episode behaved."""
    return tuple(
        Conduct(
            void=step.decision.void,
            mended=bool(step.decision.repairs),
            repeated=before is not None and _repeats(before, step),
            tokens=0 if step.decision.completion is None else len(step.decision.completion.ids),
            longest=0 if step.decision.request is None else step.decision.request.sampling.max_tokens,
        )
        for before, step in zip((None, *steps), steps, strict=False)
    )


def _repeats(before: Step, step: Step) -> bool:
    """Whether the very actions of the turn before are done again, on the very screen."""
    again = bool(step.decision.actions) and step.decision.actions == before.decision.actions
    # the start state of a second attempt may look as the first one ended
    return again and not told_again(before) and _same_screen(before, step)


def _same_screen(before: Step, step: Step) -> bool:
    """By the digest of the picture, and by what is in no picture: dialog, terminal, a command's output."""
    return before.observation.timeless == step.observation.timeless
