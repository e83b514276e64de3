"""What a policy drew for a turn and did not do: the reply that was taken against one that was rated lower.

Where several replies are drawn for each turn, a process reward model (best of N), or their own majority, says
how good each is; the ratings stay beside the step, and so a preference costs no further episode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Candidate, Decision, Trajectory
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.preferences.replies import reply_pair

Key: TypeAlias = tuple[object, ...]
"""Prompt, pictures and both replies of a pair."""


def other_pairs(
    trajectories: Iterable[Trajectory],
    bundle: ModelBundle,
    *,
    margin: float,
    limit: int,
    known: set[Key] | None = None,
) -> list[Pair]:
    """One for each turn with a reply that was rated lower, the lowest of them; each pair of replies to one
    prompt once, however many episodes it came up in. Replies without an action are left out.

    Args:
        trajectories: with image data.
        bundle: the policy that is to learn.
        margin: least difference of the ratings, 0 to 1; what is rated alike is never a pair.
        limit: of a task's pairs.
        known: what pairs of other trajectories were made of; these are added to it. None: there are none.
    """
    taken: Counter[str] = Counter()
    known = set() if known is None else known
    found: list[Pair] = []
    for trajectory in trajectories:
        task_id = trajectory.start.task.id
        for place, step in enumerate(trajectory.steps):
            if taken[task_id] >= limit:
                break
            worse = lowest(step.decision, margin=margin)
            if worse is None or step.decision.rating is None or worse.rating is None:
                continue
            ratings = (step.decision.rating, worse.rating)
            pair = reply_pair(trajectory, place, worse, bundle, returns=ratings)
            if pair is not None and (key := _key(pair)) not in known:
                known.add(key)
                found.append(pair)
                taken[task_id] += 1
    return found


def lowest(decision: Decision, *, margin: float) -> Candidate | None:
    """The lowest-rated other reply that holds an action and is `margin` below the one taken; None where there
    is none, where a person took the turn, and where what was drawn is no action."""
    theirs = decision.review is not None and decision.review.proposed is not None
    rating = decision.rating
    if rating is None or theirs or not decision.actions or decision.summary is not None:
        return None
    rated = [each for each in decision.others if each.actions and each.rating is not None]
    below = [each for each in rated if rating - _rating(each) >= margin and _rating(each) < rating]
    return min(below, key=_rating, default=None)


def _rating(candidate: Candidate) -> float:
    assert candidate.rating is not None
    return candidate.rating


def _key(pair: Pair) -> Key:
    ((better,), (worse,)) = pair.sides
    images = tuple(image.digest for image in better.images)
    return (better.prompt_ids, images, better.reply_ids, worse.reply_ids)
