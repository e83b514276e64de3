"""What a person did in place of what the policy proposed: a pair of replies to one prompt.

The better side is the person's action in the words of the policy, the worse side what it had sampled itself;
both follow the very prompt it was shown, where its ids are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Decision, Proposal, Step, Trajectory
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.types import TrainingSample


def correction_pairs(trajectories: Iterable[Trajectory], bundle: ModelBundle, *, limit: int) -> list[Pair]:
    """One for each turn that a person replaced; those where either side holds no action are left out, and
    those where both come to the same reply.

    Args:
        trajectories: with image data.
        bundle: the policy that is to learn.
        limit: of a task's pairs.
    """
    taken: Counter[str] = Counter()
    found: list[Pair] = []
    for trajectory in trajectories:
        task_id = trajectory.start.task.id
        for place, step in enumerate(trajectory.steps):
            if taken[task_id] >= limit:
                break
            pair = _pair(trajectory, place, step, bundle)
            if pair is not None:
                found.append(pair)
                taken[task_id] += 1
    return found


def _pair(trajectory: Trajectory, place: int, step: Step, bundle: ModelBundle) -> Pair | None:
    review = step.decision.review
    if review is None or review.proposed is None or not review.proposed.actions or step.decision.void:
        return None
    worse = _sample(trajectory, place, _as_proposed(step.decision, review.proposed), bundle)
    better = _sample(trajectory, place, step.decision, bundle)
    # both were answers to one prompt: the one that the policy was shown
    better = replace(better, prompt_ids=worse.prompt_ids, images=worse.images)
    if better.reply_ids == worse.reply_ids:
        return None
    return Pair(task_id=trajectory.start.task.id, sides=((better,), (worse,)), returns=(1.0, 0.0))


def _sample(trajectory: Trajectory, place: int, decision: Decision, bundle: ModelBundle) -> TrainingSample:
    steps = (*trajectory.steps[:place], replace(trajectory.steps[place], decision=decision))
    return samples_from_trajectories([replace(trajectory, steps=steps)], bundle)[-1]


def _as_proposed(decision: Decision, proposed: Proposal) -> Decision:
    known = decision.request is not None and proposed.completion is not None
    return replace(
        decision,
        actions=proposed.actions,
        text=proposed.text,
        thought=proposed.thought,
        completion=proposed.completion,
        trainable=known,
    )
