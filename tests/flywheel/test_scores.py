"""Scores of several scorers, and what each has still to score."""

from __future__ import annotations

import math

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write

from deskhand_flywheel.errors import InvalidScore, UnknownTrajectory
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeScore, StepScore, StepValue, TrajectoryFilter

DATABASES = ("sqlite", "postgresql")


def _score(trajectory_id: str, index: int, score: float = 0.5, scorer: str = "prm:1") -> StepScore:
    return StepScore(trajectory_id=trajectory_id, step_index=index, score=score, scorer=scorer)


async def test_scorers_stand_side_by_side(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    human = StepScore(trajectory_id="a", step_index=1, score=0.1, scorer="human:ada", rationale="Why?")
    await store.add_scores([_score("a", 1), _score("a", 0), human])
    assert await store.scores("a") == (human, _score("a", 0), _score("a", 1))
    assert await store.scores("a", scorer="human:ada") == (human,)
    assert await store.scores("b") == ()


async def test_a_later_word_replaces_the_earlier_one_of_the_same_scorer(store: Store) -> None:
    await write(store, make_trajectory("a"))
    await store.add_scores([_score("a", 0, 0.2), _score("a", 0, 0.2, "prm:2")])
    await store.add_scores([_score("a", 0, 0.9)])
    assert [score.score for score in await store.scores("a")] == [0.9, 0.2]


async def test_a_score_for_no_step_is_refused_and_keeps_none(store: Store) -> None:
    await write(store, make_trajectory("a"))
    with pytest.raises(UnknownTrajectory):
        await store.add_scores([_score("a", 0), _score("a", 3)])
    assert await store.scores("a") == ()
    await store.add_scores([])


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.01, 7.5])
async def test_what_is_no_score_is_refused_and_keeps_none(store: Store, score: float) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    with pytest.raises(InvalidScore, match="of prm:1 is not from 0"):
        await store.add_scores([_score("a", 0), _score("a", 1, score)])
    judged = OutcomeScore(trajectory_id="a", score=score, scorer="judge:m@1")
    with pytest.raises(InvalidScore, match="of judge:m@1 is not from 0"):
        await store.add_outcome_scores([judged])
    value = StepValue(
        trajectory_id="a",
        step_index=0,
        labeller="mc",
        before=0.5,
        before_error=0.1,
        after=score,
        after_error=0.0,
        continuations=4,
        exact=True,
    )
    with pytest.raises(InvalidScore, match=r"after: .* of mc is not from 0"):
        await store.add_step_values([value])
    assert (await store.scores("a"), await store.outcome_scores("a"), await store.step_values()) == (
        (),
        (),
        (),
    )


async def test_unscored_are_whole_episodes_with_a_step_this_scorer_has_not_seen(store: Store) -> None:
    for name in "abc":
        await write(store, make_trajectory(name, end=make_end(), labels={"run": name}))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    await write(store, make_trajectory("without steps", steps=(), end=make_end(success=None)))
    await store.add_scores(_score("a", index) for index in range(3))
    await store.add_scores(_score("b", index) for index in range(2))
    await store.add_scores(_score("c", index, scorer="prm:2") for index in range(3))
    assert await store.unscored("prm:1") == ("b", "c")
    assert await store.unscored("prm:2") == ("a", "b")
    assert await store.unscored("prm:1", TrajectoryFilter(labels={"run": "c"})) == ("c",)
