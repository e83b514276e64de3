"""Learning again from what went well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from deskhand_trainer.replay import Successes
from deskhand_trainer.self_imitation import USUAL_OF, imitated, usual, warmed_up
from deskhand_trainer.types import Episode

Made = Callable[..., Episode]


@pytest.fixture
def made(an_episode: Episode) -> Made:
    def make(name: str, outcome: float, group: str = "g") -> Episode:
        return replace(an_episode, trajectory_id=name, outcome=outcome, success=outcome >= 1, group_id=group)

    return make


def test_the_weight_rises_like_half_a_cosine() -> None:
    assert [warmed_up(t, iterations=4) for t in range(6)] == pytest.approx(
        [0.0, 0.5 - 0.5 * 2**-0.5, 0.5, 0.5 + 0.5 * 2**-0.5, 1.0, 1.0]
    )


def test_what_is_usual_are_the_means_of_the_latest_groups(made: Made) -> None:
    batch = [made("a", 1.0), made("b", 0.0), made("c", 0.25, "h")]
    assert usual([0.9], batch) == [0.9, 0.5, 0.25]
    assert len(usual([0.0] * 300, batch)) == USUAL_OF
    assert usual([0.0] * 300, batch)[-2:] == [0.5, 0.25]


def test_a_success_counts_by_how_far_it_is_above_the_running_median(made: Made) -> None:
    stored = Successes(size=4).stored([made("old", 1.0), made("older", 1.0)])
    samples = imitated(stored, [0.0, 0.25, 0.9], weight=0.5)
    assert {s.trajectory_id for s in samples} == {s.trajectory_id for s in made("old", 1.0).samples}
    for sample in samples:
        n = len(sample.reply_ids)
        assert sample.advantage == (0.75,) * n
        assert sample.policy_weights == (0.5,) * n
        assert sample.replayed and sample.beside and sample.in_policy_loss and not sample.in_value_loss


def test_ratios_are_to_the_policy_asked_for(made: Made) -> None:
    stored = Successes(size=4).stored([made("old", 1.0)])
    drawn = imitated(stored, [0.0], weight=1.0)
    assert all(s.old_logprobs == () for s in drawn)  # those of the drawing serve
    width = max(len(s.reply_ids) for s in drawn)
    found = -torch.arange(len(drawn) * width, dtype=torch.float32).view(len(drawn), width)
    held = imitated(stored, [0.0], weight=1.0, scored=lambda samples: found[: len(samples)])
    assert [s.old_logprobs for s in held] == [
        tuple(row[: len(s.reply_ids)].tolist()) for s, row in zip(drawn, found, strict=True)
    ]
    assert [replace(s, old_logprobs=()) for s in held] == drawn
    assert imitated(Successes(size=4), [0.0], weight=1.0, scored=lambda _: torch.zeros(0, 0)) == []


def test_of_several_attempts_the_one_that_succeeded_is_imitated(made: Made) -> None:
    won = made("old", 1.0)
    again = tuple(replace(won.samples[0], turn_index=n, attempt=n // 2) for n in range(4))
    samples = imitated(Successes(size=4).stored([replace(won, samples=again)]), [0.0], weight=1.0)
    assert [s.turn_index for s in samples] == [2, 3]


def test_nothing_is_imitated_where_success_is_usual_or_the_weight_nothing(made: Made) -> None:
    stored = Successes(size=4).stored([made("old", 1.0)])
    assert imitated(stored, [1.0, 1.0, 0.0], weight=1.0) == []
    assert imitated(stored, [0.0], weight=0.0) == []
    assert imitated(stored, [], weight=1.0) == []
    assert imitated(Successes(size=4), [0.0], weight=1.0) == []
