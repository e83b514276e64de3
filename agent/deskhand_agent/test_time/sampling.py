"""Several replies to one turn, of which one is acted: best of N, majority."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from deskhand_agent.accounts import spent, together
from deskhand_agent.errors import InferenceError
from deskhand_agent.test_time.judging import StepJudge
from deskhand_agent.test_time.voting import majority
from deskhand_agent.types import Candidate, Context, Decision, Policy, patience_s, reads_tree

Choose: TypeAlias = Callable[[Context, Sequence[Decision]], Awaitable[tuple[int, Sequence[float]]]]
"""Which of the candidates is acted, and how each of them is rated."""


class ManySamples:
    """A policy that asks the one inside several times at once and acts one reply.

    The turn is that reply's: its ids are what is trained on. The others stay beside it, and what all of them
    cost stands with it, those that came to nothing too.
    """

    def __init__(self, inside: Policy, *, samples: int, choose: Choose) -> None:
        self.id = inside.id
        self.longest_s = patience_s(inside)
        """See `Patient`."""
        self.reads_tree = reads_tree(inside)
        self._inside, self._samples, self._choose = inside, samples, choose

    async def act(self, context: Context) -> Decision:
        """Decide one turn by the replies that came.

        Raises:
            InferenceError: none came, or they could not be rated.
        """
        asked = (self._inside.act(context) for _ in range(self._samples))
        replies = await asyncio.gather(*asked, return_exceptions=True)
        candidates = [reply for reply in replies if isinstance(reply, Decision)]
        for error in replies:
            if isinstance(error, BaseException) and not (candidates and isinstance(error, InferenceError)):
                raise error
        lost = [reply.cost for reply in replies if isinstance(reply, InferenceError)]
        # what it writes into its memory is no action that could be rated
        written = next((n for n, each in enumerate(candidates) if each.summary is not None), None)
        if written is not None:
            chosen, ratings = written, ()
        else:
            chosen, ratings = await self._choose(context, candidates)
        return _acted(candidates, chosen, ratings, lost)


def by_majority(radius_px: float) -> Choose:
    """What most of them say; see `voting.majority`."""

    async def choose(_: Context, candidates: Sequence[Decision]) -> tuple[int, Sequence[float]]:
        return majority(candidates, radius_px=radius_px)

    return choose


def by_judge(judge: StepJudge) -> Choose:
    """The highest scored, the first of equal ones; one without an action only where none has any."""
    return partial(_judged, judge)


async def _judged(
    judge: StepJudge, context: Context, candidates: Sequence[Decision]
) -> tuple[int, Sequence[float]]:
    scores = await judge.scores(context, candidates)
    best = max(range(len(candidates)), key=lambda n: (not candidates[n].void, scores[n]))
    return best, scores


def _acted(
    candidates: Sequence[Decision],
    chosen: int,
    ratings: Sequence[float],
    lost: Sequence[Mapping[str, float]],
) -> Decision:
    rated = [*ratings] or [None] * len(candidates)
    others = tuple(
        Candidate(actions=each.actions, text=each.text, completion=each.completion, rating=rating)
        for n, (each, rating) in enumerate(zip(candidates, rated, strict=True))
        if n != chosen
    )
    cost = together((*map(spent, candidates), *lost))
    return replace(candidates[chosen], rating=rated[chosen], others=others, cost=cost)
