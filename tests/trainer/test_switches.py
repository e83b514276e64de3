"""What a setting of PPO switches on acts in the batch and in the update: each on the least that shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from deskhand_agent.types import StopReason
from deskhand_trainer.batches import prepare, reward_rule, with_rewards
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.learner import Learner
from deskhand_trainer.minibatch import minibatch, of_whole_trajectories
from deskhand_trainer.tabular import TabularActorCritic
from deskhand_trainer.types import Episode, TrainingSample

STATES, TOKENS, LENGTH = 4, 3, 20
PLAIN: dict[str, Any] = {
    "minibatch": 99, "microbatch": 99, "epochs": 1, "threads": 1, "normalisation": "none", "gamma": 1.0,
    "lr": 0.01, "critic_lr": 0.01, "lr_warmup_iterations": 0, "betas": [0.0, 0.0], "max_grad_norm": 0.0,
}  # fmt: skip


def configured(**changes: object) -> PpoConfig:
    return parse_config(PpoConfig, {**PLAIN, **changes})


def model() -> TabularActorCritic:
    """A policy whose logits differ everywhere, and a critic that says 0."""
    torch.manual_seed(0)
    made = TabularActorCritic(states=STATES, tokens=TOKENS, reply_length=LENGTH)
    with torch.no_grad():
        made.logits.copy_(torch.randn(made.logits.shape))
    return made


def turn(state: int, reply: Sequence[int], **told: Any) -> TrainingSample:
    drawn = torch.log_softmax(model().logits[state].detach(), -1)
    logprobs = tuple(float(drawn[at, token]) for at, token in enumerate(reply))
    told = {"behaviour_logprobs": logprobs, "trajectory_id": "t", "turn_index": 0, **told}
    return TrainingSample(prompt_ids=(state,), reply_ids=tuple(reply), images=(), reward=0.0, **told)


def episode(outcome: float, turns: Sequence[TrainingSample], **told: Any) -> Episode:
    name = f"{outcome}"
    samples = tuple(replace(each, trajectory_id=name, turn_index=at) for at, each in enumerate(turns))
    return Episode(
        trajectory_id=name, task_id="t", seed=0, samples=samples, outcome=outcome, success=outcome == 1,
        stop_reason=StopReason.TERMINATED, **told,
    )  # fmt: skip


def rewards(outcome: float, config: PpoConfig, **told: Any) -> list[float]:
    (done,) = with_rewards([episode(outcome, [turn(0, [1]), turn(1, [1])], **told)], reward_rule(config))
    return [each.reward for each in done.samples]


def test_the_gate_lets_steps_count_from_its_outcome_on() -> None:
    gated, open_ = (configured(environment_weight=1.0, gate=gate) for gate in (0.5, None))
    steps = (0.2, 0.3)
    assert rewards(0.5, gated, environment_rewards=steps) == pytest.approx([0.2, 0.8])
    assert rewards(0.4, gated, environment_rewards=steps) == pytest.approx([0.0, 0.4])
    assert rewards(0.4, open_, environment_rewards=steps) == pytest.approx([0.2, 0.7])


def test_information_is_worth_its_weight() -> None:
    assert rewards(1.0, configured(information_weight=0.5), information_gains=(0.4, 0.2)) == pytest.approx(
        [0.2, 1.1]
    )


@pytest.mark.parametrize(
    ("advantage", "wanted"),
    [
        ("turn", [0.5] * 20 + [1.0] * 20),  # λ = 1 − 1/2 turns
        ("token", [0.5**n for n in range(39, -1, -1)]),  # λ = 1 − 1/(.05 · 40 tokens)
    ],
)
def test_the_adaptive_lambda_counts_what_the_estimator_counts(advantage: str, wanted: list[float]) -> None:
    """Of two turns of 20 tokens and an outcome of 1, where the critic says 0: λ to as many as follow."""
    turns = [turn(0, [1] * 20), turn(1, [1] * 20)]
    ratio = "turn_product" if advantage == "turn" else "token"
    config = configured(advantage=advantage, ratio=ratio, lambda_policy="adaptive")
    batch = prepare([episode(1.0, turns), episode(0.0, turns)], model(), config)
    assert [a for each in batch.samples[:2] for a in each.advantage] == pytest.approx(wanted, abs=1e-7)


def gradient(config: PpoConfig, samples: Sequence[TrainingSample], **told: Any) -> Tensor:
    """Of the policy's loss by its logits."""
    Learner(learned := model(), config).update(samples, lr=0.0, **told)
    assert learned.logits.grad is not None
    return learned.logits.grad


def plain(state: int, reply: Sequence[int], advantage: float = 0.0, **told: Any) -> TrainingSample:
    many = (advantage,) * len(reply)
    return turn(state, reply, advantage=many, old_values=(0.0,) * len(reply), returns=many, **told)


@pytest.mark.parametrize(("coefficient", "push"), [(0.3, 0.0), (0.0, 1.0), (0.0, -1.0)])
def test_entropy_is_raised_by_its_coefficient_and_as_it_is_pushed(coefficient: float, push: float) -> None:
    """The loss is −c · the mean entropy of the tokens; their logits alone feel it."""
    samples = [plain(0, [1, 2]), plain(1, [0])]
    logits = model().logits.detach().requires_grad_()
    rows = torch.stack([logits[0, 0], logits[0, 1], logits[1, 0]])
    entropy = -(rows.softmax(-1) * rows.log_softmax(-1)).sum(-1).mean()
    (wanted,) = torch.autograd.grad(-(coefficient + push) * entropy, logits)
    config = configured(entropy_coef=coefficient, entropy_smoothing=abs(push))
    found = gradient(config, samples, entropy_push=push)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("ratio", "wanted"), [("turn_product", math.exp(0.4)), ("turn_geometric", math.exp(0.2))]
)
def test_a_turns_ratio_is_the_product_or_the_geometric_mean_of_its_tokens(ratio: str, wanted: float) -> None:
    """In the loss, and where the engine drew by other weights than the update began with."""
    sample = plain(0, [1, 2], 1.0)
    off = tuple(p - less for p, less in zip(sample.behaviour_logprobs, (0.1, 0.3), strict=True))
    config = configured(ratio=ratio, clip_low=0.2, clip_high=0.2)
    report = Learner(model(), config).update([replace(sample, old_logprobs=off)], lr=0.0)
    assert report.ratio_mean == pytest.approx(wanted, rel=1e-5)

    config = replace(config, importance_cap=9.0)
    drawn = replace(sample, old_logprobs=sample.behaviour_logprobs, behaviour_logprobs=off)
    one, other = (
        minibatch([each], [0], config, None, of_whole_trajectories([each], config)).policy_weights
        for each in (drawn, replace(drawn, behaviour_logprobs=sample.behaviour_logprobs))
    )
    torch.testing.assert_close(one, wanted * other, rtol=1e-5, atol=0.0)


def test_a_bad_turn_that_became_likely_pulls_no_more_where_the_clip_is_dual() -> None:
    """A < 0 and a ratio of e⁵: the loss is at most its factor times |A| (arXiv:1912.09729)."""
    sample = plain(0, [1], -1.0)
    sample = replace(sample, old_logprobs=(sample.behaviour_logprobs[0] - 5.0,))
    assert gradient(configured(), [sample]).abs().sum() > 1
    assert gradient(configured(dual_clip=3.0), [sample]).abs().sum() == 0


def test_a_value_that_moved_far_is_clipped_where_that_costs_more() -> None:
    """V from 0 to 1 and a return of 2: (.2 − 2)² = 3.24 in place of (1 − 2)²."""
    sample = replace(plain(0, [1]), old_values=(0.0,), returns=(2.0,))
    losses: list[float] = []
    for clip in (None, 0.2):
        critic = model()
        torch.nn.init.ones_(critic.critic.bias)
        losses.append(Learner(critic, configured(value_clip=clip)).update([sample], lr=0.0).value_loss)
    assert losses[1] == pytest.approx(3.24 * losses[0], rel=1e-5)


def test_turns_the_policy_is_sure_of_are_left_to_the_critic() -> None:
    sure = model()
    with torch.no_grad():
        sure.logits[1] = torch.tensor([9.0, 0.0, 0.0])
    turns = [turn(0, [1]), turn(1, [0])]
    for quantile, kept in ((0.0, [True, True]), (0.9, [True, False])):
        batch = prepare([episode(1.0, turns)], sure, configured(entropy_quantile=quantile))
        assert [each.in_policy_loss for each in batch.samples] == kept


def test_the_token_that_goes_most_with_its_advantage_is_left_out() -> None:
    """Log-probabilities −1, −3, −2 and −3.5 of a mean of −2.375, advantages 1, 1, 0 and 0: their products are
    .69, −.31, −.19 and .56."""
    episodes = [
        episode(outcome, [turn(0, [1], behaviour_logprobs=(logprob,))])
        for outcome, logprob in ((1.0, -1.0), (1.0, -3.0), (0.0, -2.0), (0.0, -3.5))
    ]
    for share, kept in ((0.0, [(), (), (), ()]), (0.25, [(0.0,), (1.0,), (1.0,), (1.0,)])):
        config = configured(advantage="return", ratio="token", covariance_clip=share)
        assert [each.policy_weights for each in prepare(episodes, model(), config).samples] == kept
