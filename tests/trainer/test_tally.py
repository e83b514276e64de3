"""What an update tells of itself, by numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from math import log

import pytest
import torch
from torch import Tensor

from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.learner import Learner
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.tally import Tally
from deskhand_trainer.types import TrainingSample

EVEN, SURE = log(2), 0.75 * log(4 / 3) + 0.25 * log(4)
"""Entropies of (½, ½) and (¾, ¼)."""


def logs(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64).log()


def test_ratios_are_summed_over_minibatches_and_the_largest_is_kept() -> None:
    tally, other = Tally(), Tally()
    tally.count_ratios(torch.tensor([0.5, 1.0]), torch.tensor([True, False]))
    other.count_ratios(torch.tensor([2.5, 1.0, 1.5]), torch.tensor([True, False, False]))
    other.count_ratios(torch.tensor([]), torch.tensor([], dtype=torch.bool))
    tally.add(other)
    report = tally.report(held=False)
    assert (report.ratio_mean, report.ratio_max, report.clip_fraction) == (1.3, 2.5, 0.4)


def test_of_no_ratio_the_mean_is_one() -> None:
    report = Tally().report(held=True)
    assert (report.ratio_mean, report.ratio_max, report.clip_fraction) == (1.0, 1.0, 0.0)
    assert report.kl_per_turn == 0.0 and math.isnan(report.logprob_gap)


def test_drift_is_summed_over_a_turn_and_is_that_of_the_last_epoch() -> None:
    """Turns of two tokens, of one, and one that does not count. k3 with r = now/drawn: 2 gives 1 − log 2, ½
    gives −½ + log 2, and ¼ gives −¾ + log 4."""
    tally, mask = Tally(), torch.tensor([[True, True], [True, False], [False, False]])
    now = logs([0.5, 0.25], [0.2, 0.9], [0.9, 0.9])
    tally.begin_epoch()
    tally.count_drift(now, logs([0.1, 0.1], [0.1, 0.1], [0.1, 0.1]), mask, compared=None)
    tally.begin_epoch()
    part = Tally()
    part.count_drift(now[:1], logs([0.25, 0.5]), mask[:1], compared=None)
    tally.add(part)
    tally.count_drift(now[1:], logs([0.8, 0.1], [0.1, 0.1]), mask[1:], compared=None)
    assert tally.report(held=False).kl_per_turn == pytest.approx((0.5 - 0.75 + log(4)) / 2)


def test_a_gap_is_the_mean_over_the_tokens_compared_and_nan_where_there_are_none() -> None:
    """Twice and half as likely, then a token that is not compared."""
    tally, mask = Tally(), torch.tensor([[True, True, True]])
    tally.count_drift(
        logs([0.5, 0.25, 0.9]),
        logs([0.25, 0.5, 0.1]),
        mask,
        compared=torch.tensor([[True, True, False]]),
    )
    assert tally.report(held=False).logprob_gap == pytest.approx(log(2))


def test_what_each_step_told_is_divided_by_the_steps_taken() -> None:
    tally, part = Tally(), Tally()
    tally.steps, tally.entropy, tally.policy_loss = 2, 0.75, -1.0
    part.entropy, part.policy_loss, part.value_loss, part.pictures = 0.25, 0.5, 3.0, 4
    tally.add(part)
    report = tally.report(held=False)
    assert (report.entropy, report.policy_loss, report.value_loss) == (0.5, -0.25, 1.5)
    assert (report.image_encoder_calls, report.optimizer_steps) == (4, 2)


def turn(name: str, state: int, reply: list[int], drawn: list[float], advantage: float) -> TrainingSample:
    """A turn whose tokens were drawn with these probabilities; each is worth 2."""
    return TrainingSample(
        trajectory_id=name, turn_index=0, prompt_ids=(state,), reply_ids=tuple(reply), images=(),
        behaviour_logprobs=tuple(log(p) for p in drawn), reward=0.0, old_values=(0.0,) * len(reply),
        advantage=(advantage,) * len(reply), returns=(2.0,) * len(reply),
    )  # fmt: skip


@pytest.mark.parametrize("microbatch", [1, 3, 4])
def test_an_update_tells_of_its_turns_what_their_probabilities_come_to(microbatch: int) -> None:
    """Now they are (½, ½) in state 0 and (¾, ¼) in state 1; the ratios are 2, ½, then 1 and 1½; of the turn
    that the policy does not learn from, 4.

    Clipped at .8 and 1.2 the four terms are 1.2 − .8 + 1 + 1.2, and the clip took all but the third's
    gradient. k3, r = now/drawn: 1 − log 2, −½ + log 2, then 0 and ½ − log 1½, and 3 − log 4.
    """
    model = TabularActorCritic(states=2, tokens=2, reply_length=2)
    with torch.no_grad():
        model.logits[1] = torch.tensor([log(3.0), 0.0])
    samples = [
        turn("likelier", 0, [0], [0.25], 1.0),
        turn("less likely", 1, [1], [0.5], -1.0),
        turn("of two tokens", 1, [0, 0], [0.75, 0.5], 1.0),
        replace(turn("left out", 0, [1], [0.125], 1.0), in_policy_loss=False),
    ]
    config = parse_config(
        PpoConfig,
        {"ratio": "token", "advantage": "token", "aggregation": "token", "clip_low": 0.2, "clip_high": 0.2,
         "minibatch": 4, "microbatch": microbatch, "epochs": 2, "threads": 1},
    )  # fmt: skip
    learner = Learner(model, config)
    learner.critic_optimizer.param_groups[0]["lr"] = 0.0
    report = learner.update(samples, lr=0.0)
    assert report.policy_loss == pytest.approx(-(1.2 - 0.8 + 1.0 + 1.2) / 4, rel=1e-5)
    assert report.value_loss == pytest.approx(0.5 * 2.0**2)
    assert report.entropy == pytest.approx((EVEN + 3 * SURE) / 4, rel=1e-5)
    assert report.ratio_mean == pytest.approx((2 + 0.5 + 1 + 1.5) / 4, rel=1e-5)
    assert report.ratio_max == pytest.approx(2.0, rel=1e-5)
    assert report.clip_fraction == 0.75
    kl = 1 - log(2) - 0.5 + log(2) + 0.5 - log(1.5) + 3 - log(4)
    assert report.kl_per_turn == pytest.approx(kl / 4, rel=1e-5)
    # in the first step alone, of all that the weights of before it drew
    assert report.logprob_gap == pytest.approx((log(2) + log(2) + log(1.5) + log(4)) / 5, rel=1e-5)
    assert report.optimizer_steps == 2


def test_a_replayed_turn_says_nothing_of_how_far_the_policy_has_moved() -> None:
    model = TabularActorCritic(states=1, tokens=2)
    own, old = turn("own", 0, [0], [0.25], 1.0), replace(turn("old", 0, [0], [0.9], 1.0), replayed=True)
    config = parse_config(PpoConfig, {"epochs": 1, "threads": 1})
    report = Learner(model, config).update([own, old], lr=0.0)
    assert report.kl_per_turn == pytest.approx(1 - log(2), rel=1e-5)
    assert report.logprob_gap == pytest.approx(log(2), rel=1e-5)
