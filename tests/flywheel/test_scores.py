"""Scores of several scorers, and what each has still to score."""

from __future__ import annotations

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write

from deskhand_flywheel.errors import UnknownTrajectory
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, TrajectoryFilter

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
