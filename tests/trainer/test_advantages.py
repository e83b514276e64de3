from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deskhand_trainer.advantages import (
    bilevel_gae,
    decoupled_gae,
    length_adaptive_lambda,
    monte_carlo_returns,
    spread_over_tokens,
    token_gae,
    turn_gae,
)
from deskhand_trainer.written import Written


def moved_to_written(rewards: Tensor, mask: Tensor) -> Tensor:
    written = Written(mask)
    return written.spread(written.moved(rewards))


TIGHT = {"rtol": 1e-5, "atol": 1e-7}
REWARDS = torch.tensor([0.0, 0, 0, 0, 0, 1])
VALUES = torch.tensor([0.5, 0.4, 9, 9, 0.6, 0.8])
MASK = torch.tensor([1, 1, 0, 0, 1, 1]).bool()


def slow_gae(
    rewards: list[float], values: list[float], gamma: float, lam: float, bootstrap: float
) -> list[float]:
    """Σ_k (γλ)^k δ_{t+k}, written out as the sum the paper defines it by."""
    after = [*values, bootstrap][1:]
    deltas = [r + gamma * n - v for r, v, n in zip(rewards, values, after, strict=True)]
    return [sum((gamma * lam) ** k * d for k, d in enumerate(deltas[t:])) for t in range(len(rewards))]


def test_golden_token_gae_steps_over_shown_tokens() -> None:
    got = token_gae(REWARDS, VALUES, MASK, gamma=0.99, lam=0.95)
    torch.testing.assert_close(
        got.advantages[MASK], torch.tensor([0.414671, 0.551484, 0.380100, 0.2]), rtol=2e-6, atol=0
    )
    torch.testing.assert_close(got.returns[MASK], (got.advantages + VALUES)[MASK], **TIGHT)
    assert got.advantages[~MASK].abs().max() == 0


def test_golden_token_gae_undiscounted() -> None:
    got = token_gae(REWARDS, VALUES, MASK, gamma=1, lam=1)
    torch.testing.assert_close(got.advantages[MASK], torch.tensor([0.5, 0.6, 0.4, 0.2]), **TIGHT)


def test_golden_turn_gae() -> None:
    got = turn_gae(
        torch.tensor([0.0, 0, 1]),
        torch.tensor([0.2, 0.5, 0.7]),
        torch.ones(3).bool(),
        gamma=0.99,
        lam=0.9,
    )
    torch.testing.assert_close(got.advantages, torch.tensor([0.705127, 0.4603, 0.3]), rtol=2e-6, atol=0)


@pytest.mark.parametrize(
    ("lengths", "alpha", "want"),
    [([40, 100, 400, 1000], 0.05, [0.5, 0.8, 0.95, 0.98]), ([2, 5, 20], 1.0, [0.5, 0.8, 0.95])],
)
def test_golden_length_adaptive(lengths: list[int], alpha: float, want: list[float]) -> None:
    torch.testing.assert_close(
        length_adaptive_lambda(torch.tensor(lengths), alpha=alpha), torch.tensor(want), **TIGHT
    )


def test_length_adaptive_is_clamped_for_short_episodes() -> None:
    assert length_adaptive_lambda(torch.tensor([1, 10, 19, 20]), alpha=0.05).tolist() == [0, 0, 0, 0]


@settings(max_examples=60)
@given(
    data=st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.booleans()), min_size=1, max_size=9),
    gamma=st.floats(0.5, 1),
    lam=st.floats(0, 1),
    bootstrap=st.floats(-1, 1),
)
def test_equals_the_slow_reference_on_written_tokens(
    data: list[tuple[float, float, bool]], gamma: float, lam: float, bootstrap: float
) -> None:
    mask = torch.tensor([m for _, _, m in data])
    rewards = torch.tensor([r for r, _, _ in data], dtype=torch.float64)
    values = torch.tensor([v if m else math.nan for _, v, m in data], dtype=torch.float64)
    got = token_gae(rewards, values, mask, gamma=gamma, lam=lam, bootstrap=torch.tensor(bootstrap))
    moved = moved_to_written(rewards, mask)
    want = slow_gae(moved[mask].tolist(), values[mask].tolist(), gamma, lam, float(torch.tensor(bootstrap)))
    torch.testing.assert_close(
        got.advantages[mask], torch.tensor(want, dtype=torch.float64), rtol=1e-9, atol=1e-9
    )


def random_case(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    return (
        torch.randn(3, 7, generator=g, dtype=torch.float64),
        torch.randn(3, 7, generator=g, dtype=torch.float64),
        torch.rand(3, 7, generator=g) < 0.6,
    )


@pytest.mark.parametrize("seed", range(4))
def test_full_lambda_gives_return_minus_value_and_zero_lambda_gives_delta(seed: int) -> None:
    rewards, values, mask = random_case(seed)
    full = token_gae(rewards, values, mask, gamma=1, lam=1).advantages
    g = monte_carlo_returns(rewards, mask, gamma=1)
    torch.testing.assert_close(full, torch.where(mask, g - values, 0), **TIGHT)
    zero = token_gae(rewards, values, mask, gamma=0.9, lam=0).advantages
    moved = moved_to_written(rewards, mask)
    for b in range(3):
        v, r = values[b][mask[b]], moved[b][mask[b]]
        after = torch.cat([v[1:], torch.zeros(1, dtype=v.dtype)])
        torch.testing.assert_close(zero[b][mask[b]], r + 0.9 * after - v, **TIGHT)


@pytest.mark.parametrize("where", [0, 1, 3, 6])
@pytest.mark.parametrize("shown", [math.nan, math.inf, 1e9])
def test_inserting_shown_tokens_changes_nothing(where: int, shown: float) -> None:
    plain = token_gae(REWARDS[MASK], VALUES[MASK], torch.ones(4).bool(), gamma=0.99, lam=0.95)
    at = min(where, 4)
    mask = torch.ones(4).bool()
    wide = token_gae(
        torch.cat([REWARDS[MASK][:at], torch.zeros(3), REWARDS[MASK][at:]]),
        torch.cat([VALUES[MASK][:at], torch.full((3,), shown), VALUES[MASK][at:]]),
        wide_mask := torch.cat([mask[:at], torch.zeros(3).bool(), mask[at:]]),
        gamma=0.99,
        lam=0.95,
    )
    torch.testing.assert_close(wide.advantages[wide_mask], plain.advantages, rtol=0, atol=0)
    torch.testing.assert_close(wide.returns[wide_mask], plain.returns, rtol=0, atol=0)


def test_reward_on_a_shown_token_moves_back_and_a_leading_one_is_dropped() -> None:
    rewards = torch.tensor([5.0, 1, 2, 3, 4])
    mask = torch.tensor([0, 1, 0, 1, 0]).bool()
    assert moved_to_written(rewards, mask).tolist() == [0, 3, 0, 7, 0]


def test_only_truncated_trajectories_bootstrap() -> None:
    rewards, values, mask = torch.zeros(2, 2), torch.zeros(2, 2), torch.ones(2, 2).bool()
    got = turn_gae(rewards, values, mask, gamma=0.5, lam=1, bootstrap=torch.tensor([0.8, 0.0]))
    torch.testing.assert_close(got.advantages, torch.tensor([[0.2, 0.4], [0.0, 0.0]]), **TIGHT)
    g = monte_carlo_returns(rewards, mask, gamma=0.5, bootstrap=torch.tensor([0.8, 0.0]))
    torch.testing.assert_close(g, got.returns, **TIGHT)


def test_decoupled_targets_are_the_discounted_return_whatever_the_critic_says() -> None:
    rewards, values, mask = random_case(9)
    got = decoupled_gae(rewards, values, mask, gamma=0.9, lam_policy=0.95, lam_critic=1)
    torch.testing.assert_close(got.returns, monte_carlo_returns(rewards, mask, gamma=0.9), **TIGHT)
    alone = token_gae(rewards, values, mask, gamma=0.9, lam=0.95)
    torch.testing.assert_close(got.advantages, alone.advantages, rtol=0, atol=0)
    assert not torch.allclose(got.returns, alone.returns)


def test_lambda_may_differ_by_trajectory() -> None:
    rewards, values, mask = random_case(3)
    lam = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    together = token_gae(rewards, values, mask, gamma=0.9, lam=lam)
    for b in range(3):
        alone = token_gae(rewards[b], values[b], mask[b], gamma=0.9, lam=float(lam[b]))
        torch.testing.assert_close(together.advantages[b], alone.advantages, **TIGHT)


def test_a_zero_reward_trajectory_keeps_its_turns() -> None:
    got = turn_gae(torch.zeros(3), torch.tensor([0.3, 0.2, 0.1]), torch.ones(3).bool(), gamma=1, lam=1)
    torch.testing.assert_close(got.advantages, torch.tensor([-0.3, -0.2, -0.1]), **TIGHT)


def test_spread_over_tokens() -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()
    assert spread_over_tokens(torch.tensor([2.0, 3.0]), mask).tolist() == [[2, 2, 0], [3, 0, 0]]


def test_golden_bilevel() -> None:
    """Two turns of two tokens, γ = .9, λ = .5, something shown between them.

    Turns: δ2 = 1 − .8 = .2; δ1 = .9·.8 − .5 = .22, A1 = .22 + .45·.2 = .31. Inside: the last tokens keep
    those; .9·.5 − .4 + .45·.31 = .1895 and .9·.8 − .6 + .45·.2 = .21 before them.
    """
    got = bilevel_gae(
        torch.tensor([0.0, 0, 0, 0, 0, 1]),
        torch.tensor([0.4, 0.5, 9, math.nan, 0.6, 0.8]),
        MASK,
        torch.tensor([0, 0, 0, 0, 1, 1]),
        gamma=0.9,
        lam=0.5,
    )
    torch.testing.assert_close(got.advantages[MASK], torch.tensor([0.1895, 0.31, 0.21, 0.2]), **TIGHT)
    torch.testing.assert_close(got.returns[MASK], torch.tensor([0.5895, 0.81, 0.81, 1.0]), **TIGHT)
    assert not got.advantages[~MASK].any()


def test_bilevel_keeps_turns_that_earn_nothing() -> None:
    turns = torch.tensor([0, 0, 1, 1, 2])
    got = bilevel_gae(
        torch.zeros(5), torch.tensor([0.1, 0.3, 0.1, 0.2, 0.1]), torch.ones(5).bool(), turns, gamma=1, lam=0
    )
    # one-step errors at the turns' ends, and inside the turns
    torch.testing.assert_close(got.advantages, torch.tensor([0.2, -0.1, 0.1, -0.1, -0.1]), **TIGHT)


@pytest.mark.parametrize("seed", range(3))
def test_bilevel_of_one_token_turns_is_turn_gae_and_of_one_turn_token_gae(seed: int) -> None:
    rewards, values, mask = random_case(seed)
    bootstrap = torch.randn(3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    told = {"gamma": 0.9, "lam": 0.8, "bootstrap": bootstrap}
    each = torch.arange(7).expand(3, 7)
    apart = bilevel_gae(rewards, values, mask, each, **told)
    torch.testing.assert_close(apart.advantages, turn_gae(rewards, values, mask, **told).advantages, **TIGHT)
    moved = moved_to_written(rewards, mask)
    last = torch.zeros_like(moved)
    for b in range(3):
        at = int(mask[b].nonzero().max())
        last[b, at] = moved[b, at]
    together = bilevel_gae(last, values, mask, torch.zeros(3, 7).long(), **told)
    alone = token_gae(last, values, mask, **told)
    torch.testing.assert_close(together.advantages, alone.advantages, **TIGHT)


@pytest.mark.parametrize("where", [0, 1, 2, 3, 4])
def test_shown_tokens_change_nothing_between_the_levels(where: int) -> None:
    def inserted(row: torch.Tensor, shown: float) -> torch.Tensor:
        return torch.cat([row[:where], torch.full((3,), shown).to(row.dtype), row[where:]])

    turns, mask = torch.tensor([0, 0, 1, 1]), torch.ones(4).bool()
    rewards, values = REWARDS[MASK], VALUES[MASK]
    plain = bilevel_gae(rewards, values, mask, turns, gamma=0.9, lam=0.7)
    wide_mask = inserted(mask, 0.0)
    wide = bilevel_gae(
        inserted(rewards, 0.0),
        inserted(values, math.inf),
        wide_mask,
        inserted(turns, 0.0),
        gamma=0.9,
        lam=0.7,
    )
    torch.testing.assert_close(wide.advantages[wide_mask], plain.advantages, rtol=0, atol=0)
