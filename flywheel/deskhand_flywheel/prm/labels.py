"""Step labels from outcomes: no person and no forked sandbox needed, so only a first approximation.

The rule, for an episode that has a verdict:

- A *void* turn (no action could be read), a *refused* one (an action could not be carried out) and a *loop*
  (the same actions as in an earlier turn that saw the same) are 0, whatever came of the episode.
- Any other turn of an episode that succeeded is discount^k, k the useful turns still to come: turns near the
  goal are surely on the way, early ones perhaps.
- Any other turn of an episode that did not succeed is 0. Good early turns of a failure are wrongly blamed;
  over many episodes the same turn also leads to successes, and the average is what a model fits: an estimate
  of the discounted chance to succeed from here, having done this.

Of an episode of several attempts the verdict is the last one's: those before it did not succeed, and as each
begins from the start state, what was done in one is no loop in another.

Episodes without a verdict (infrastructure failure, cancelled, still running) give no labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from deskhand_agent.episode import told_again
from deskhand_agent.types import Step, Trajectory


class StepMark(StrEnum):
    """What a turn was, whatever came of it."""

    USEFUL = "useful"
    """Did something not done before."""
    VOID = "void"
    """No action could be read from the reply."""
    REFUSED = "refused"
    """An action could not be carried out."""
    LOOP = "loop"
    """The same actions as before, and the same seen: the screen, and what no screenshot shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepLabel:
    """What a process reward model is to say of one turn."""

    step_index: int
    label: float
    """0 to 1: the discounted chance that this turn leads to success."""
    mark: StepMark
    value: float
    """0 to 1: the same of the state the turn was decided in."""


def marks_of(trajectory: Trajectory) -> tuple[StepMark, ...]:
    """One mark per step, in order; no outcome needed."""
    seen: set[tuple[object, ...]] = set()
    marks: list[StepMark] = []
    for step in trajectory.steps:
        marks.append(_mark(step, seen))
        seen.add(_state_and_action(step))
        if told_again(step):
            seen.clear()
    return tuple(marks)


def labels_of(trajectory: Trajectory, *, discount: float = 0.95) -> tuple[StepLabel, ...]:
    """One label per step, in order; none when the episode has no verdict.

    Args:
        discount: 0 to 1, per useful turn.
    """
    if not 0.0 <= discount <= 1.0:
        raise ValueError(f"the discount is {discount}: give 0 to 1")
    if trajectory.end is None or trajectory.end.outcome is None:
        return ()
    worth = float(trajectory.end.outcome.success)
    labels: list[StepLabel] = []
    for step, mark in zip(reversed(trajectory.steps), reversed(marks_of(trajectory)), strict=True):
        if told_again(step):
            worth = 0.0
        useful = mark is StepMark.USEFUL
        label = worth if useful else 0.0
        worth *= discount if useful else 1.0
        labels.append(StepLabel(step_index=step.index, label=label, mark=mark, value=worth))
    return tuple(reversed(labels))


def _mark(step: Step, seen: set[tuple[object, ...]]) -> StepMark:
    if step.decision.void:
        return StepMark.VOID
    if step.action_error is not None:
        return StepMark.REFUSED
    return StepMark.LOOP if _state_and_action(step) in seen else StepMark.USEFUL


def _state_and_action(step: Step) -> tuple[object, ...]:
    # the text of the actions, because an action with arguments (a tool call) cannot be hashed
    did = repr((step.decision.actions, step.decision.summary))
    return step.observation.timeless, did
