"""Two replies to one prompt as a pair."""

from __future__ import annotations

from dataclasses import replace

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Candidate, Decision, Proposal, Trajectory
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.types import TrainingSample


def reply_pair(
    trajectory: Trajectory,
    place: int,
    worse: Proposal | Candidate,
    bundle: ModelBundle,
    *,
    returns: tuple[float, float] = (1.0, 0.0),
) -> Pair | None:
    """What was done in a turn, against what was not; None where both come to the same reply,
    or one is longer than the model takes.

    Both follow the very prompt the policy was shown, where its ids are known, and are the ids it sampled,
    where they are; what a person did, or an endpoint said, is written in the policy's words.

    Args:
        trajectory: with image data.
        place: of the step among its steps; both sides hold an action.
        worse: what was not done.
        bundle: the policy that is to learn.
        returns: what the better and the worse side are worth.
    """
    decision = trajectory.steps[place].decision
    losing = _sample(trajectory, place, _in_place(decision, worse), bundle)
    winning = _sample(trajectory, place, decision, bundle)
    if losing is None or winning is None:
        return None
    winning = replace(winning, prompt_ids=losing.prompt_ids, images=losing.images)
    if winning.reply_ids == losing.reply_ids:
        return None
    return Pair(task_id=trajectory.start.task.id, sides=((winning,), (losing,)), returns=returns)


def _sample(
    trajectory: Trajectory, place: int, decision: Decision, bundle: ModelBundle
) -> TrainingSample | None:
    """None: longer than the model takes."""
    steps = (*trajectory.steps[:place], replace(trajectory.steps[place], decision=decision))
    samples = samples_from_trajectories([replace(trajectory, steps=steps)], bundle)
    return next((each for each in samples if each.turn_index == steps[place].index), None)


def _in_place(decision: Decision, reply: Proposal | Candidate) -> Decision:
    """The turn as it would have been with that reply."""
    return replace(
        decision,
        actions=reply.actions,
        text=reply.text,
        thought=reply.thought if isinstance(reply, Proposal) else None,
        completion=reply.completion,
        trainable=decision.request is not None and reply.completion is not None,
    )
