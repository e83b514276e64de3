"""What a person did in place of what the policy proposed: a pair of replies to one prompt.

The better side is the person's action in the words of the policy, the worse side what it had sampled itself;
both follow the very prompt it was shown, where its ids are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from deskhand_agent.branching import shared_turns
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Proposal, Step, Trajectory
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.preferences.replies import reply_pair


def correction_pairs(trajectories: Iterable[Trajectory], bundle: ModelBundle, *, limit: int) -> list[Pair]:
    """One for each turn that a person replaced; those where either side holds no action are left out, and
    those where both come to the same reply, and a branch's copies of turns of the episode it left.

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
            proposed = None if place < shared_turns(trajectory.start) else proposal(step)
            pair = None if proposed is None else reply_pair(trajectory, place, proposed, bundle)
            if pair is not None:
                found.append(pair)
                taken[task_id] += 1
    return found


def proposal(step: Step) -> Proposal | None:
    """What a person replaced; None where they did not, or where either side holds no action."""
    review = step.decision.review
    if review is None or review.proposed is None or not review.proposed.actions or step.decision.void:
        return None
    return review.proposed
