from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from deskhand_agent.types import StopReason
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.filters import (
    earned,
    high_entropy_turns,
    in_policy_loss,
    low_covariance,
    widest_groups,
)
from deskhand_trainer.types import Episode, TrainingSample


def episode(seed: int, reward: float, **changes: Any) -> Episode:
    sample = TrainingSample(
        trajectory_id=f"{seed}/{reward}", turn_index=0, prompt_ids=(1,), reply_ids=(2,), images=(),
        behaviour_logprobs=(-0.1,), reward=reward,
    )  # fmt: skip
    made = Episode(
        trajectory_id=sample.trajectory_id, task_id="t", seed=seed, group_id=f"t#{seed}", samples=(sample,),
        outcome=reward, success=reward >= 1, stop_reason=StopReason.TERMINATED,
    )  # fmt: skip
    return replace(made, **changes)


def test_nobody_is_left_out_unasked() -> None:
    odd = [episode(1, 0.0, stop_reason=StopReason.TURN_LIMIT), episode(1, 1.0, void_turns=2)]
    assert in_policy_loss(odd, PpoConfig()) == [True, True]
    assert in_policy_loss(odd, PpoConfig(skip_overlong=True)) == [False, True]
    assert in_policy_loss(odd, PpoConfig(skip_void=True)) == [True, False]
    assert in_policy_loss(odd, PpoConfig(skip_void=True, skip_overlong=True, keep_spread=0.5)) == [
        False,
        False,
    ]


def test_what_an_episode_earned_is_its_outcomes_pay_alone() -> None:
    """Of all its attempts, whatever else was paid or taken."""
    (turn,) = episode(1, 0.5).samples
    failed = replace(turn, reward=0.1, reward_parts=(("outcome", 0.25), ("void", -0.15)))
    last = replace(turn, reward=1.0, reward_parts=(("outcome", 0.5), ("process", 0.5)))
    assert earned([failed, last]) == 0.75
    assert earned([]) == 0.0


def test_the_groups_that_differ_most_stay() -> None:
    pairs = {1: (0.0, 0.0), 2: (1.0, 0.0), 3: (0.6, 0.4), 4: (1.0, 1.0)}
    episodes = [episode(seed, reward) for seed, both in pairs.items() for reward in both]
    config = PpoConfig(group_size=2)
    for share, stay in ((0.25, {2}), (0.5, {2, 3}), (0.26, {2, 3}), (1.0, {1, 2, 3, 4})):
        kept = in_policy_loss(episodes, replace(config, keep_spread=share))
        assert {e.seed for e, keep in zip(episodes, kept, strict=True) if keep} == stay


def test_a_group_is_judged_by_what_is_left_of_it() -> None:
    returns, groups = torch.tensor([1.0, 0.0, 0.0, 0.4, 0.0, 9.0]), torch.tensor([5, 5, 5, 2, 2, 3])
    kept = torch.tensor([False, True, True, True, True, False])
    assert widest_groups(returns, groups, kept, share=0.5).tolist() == [False] * 3 + [True, True, False]


@pytest.mark.parametrize(
    ("quantile", "stays"),
    [
        (0.0, [True, True, True, False]),
        (0.5, [False, True, True, False]),
        (0.99, [False, True, False, False]),
    ],
)
def test_turns_the_policy_is_sure_of_are_left_out(quantile: float, stays: list[bool]) -> None:
    mask = torch.tensor([[True, True], [True, False], [True, True], [True, True]])
    entropies = torch.tensor([[0.1, 0.3], [0.9, float("nan")], [0.4, 0.6], [5.0, 5.0]])
    kept = torch.tensor([True, True, True, False])
    assert high_entropy_turns(entropies, mask, kept, quantile=quantile).tolist() == stays
    assert not high_entropy_turns(entropies, mask, torch.zeros(4).bool(), quantile=0.5).any()


def test_the_tokens_whose_probability_goes_most_with_their_advantage_are_left_out() -> None:
    logprobs = torch.tensor([[-1.0, -3.0, -2.0], [-2.0, -2.0, float("nan")]])
    advantages = torch.tensor([[2.0, -2.0, 0.0], [1.0, -1.0, float("nan")]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    # centred log-probabilities 1 -1 0 0 0 and advantages 2 -2 0 1 -1: covariances 2 2 0 0 0
    assert low_covariance(logprobs, advantages, mask, share=0.4).tolist() == [
        [False, False, True],
        [True, True, False],
    ]
    # the first two are alike: where only one is to go, neither does
    assert low_covariance(logprobs, advantages, mask, share=0.2).tolist() == mask.tolist()
    assert low_covariance(logprobs, advantages, mask, share=0.1).tolist() == mask.tolist()
    assert low_covariance(logprobs, advantages, mask, share=0.0).tolist() == mask.tolist()


def test_of_a_batch_however_small_the_token_that_goes_most_with_its_advantage_is_left_out() -> None:
    logprobs = torch.tensor([[-1.0, -3.0, -2.0, -2.0, -2.0]])
    advantages = torch.tensor([[3.0, -1.0, 0.0, 0.0, 0.0]])
    mask = torch.ones(1, 5, dtype=torch.bool)
    for share in (0.0002, 0.2):
        stays = low_covariance(logprobs, advantages, mask, share=share)
        assert stays.tolist() == [[False, True, True, True, True]]
