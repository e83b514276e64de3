"""What a process reward model says comes to the turns, and to the states, that it is said of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deskhand_trainer.process_reward import judged
from deskhand_trainer.types import Episode, TrainingSample


class Model:
    """Scores a turn by its number, and values a state by it."""

    def turn_scores(self, turns: Sequence[TrainingSample]) -> list[float]:
        return [turn.turn_index / 8 for turn in turns]

    def turn_values(self, turns: Sequence[TrainingSample]) -> list[float]:
        return [0.5 + turn.turn_index / 16 for turn in turns]


MODEL: Any = Model()


def episodes(an_episode: Episode) -> list[Episode]:
    """Of turns 0 and 1, cut off; of turn 2 alone; of 3 and 4, cut off."""
    (turn,) = an_episode.samples
    turns = [replace(turn, turn_index=n) for n in range(8)]
    return [
        replace(an_episode, samples=(*turns[:2],), after=turns[5]),
        replace(an_episode, samples=(turns[2],)),
        replace(an_episode, samples=(*turns[3:5],), after=turns[7]),
    ]


def test_every_turn_has_its_own_score(an_episode: Episode) -> None:
    got = judged(MODEL, episodes(an_episode), "centred")
    assert [e.process_scores for e in got] == [(0.0, 0.125), (0.25,), (0.375, 0.5)]
    assert [e.potentials for e in got] == [()] * 3


def test_every_state_has_its_own_value_and_one_after_which_nothing_comes_none(an_episode: Episode) -> None:
    got = judged(MODEL, episodes(an_episode), "potential")
    assert [e.potentials for e in got] == [(0.5, 0.5625, 0.8125), (0.625, 0.0), (0.6875, 0.75, 0.9375)]
    assert [e.process_scores for e in got] == [()] * 3
