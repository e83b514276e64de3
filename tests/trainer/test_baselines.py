from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deskhand_trainer.baselines import (
    group_relative,
    leave_one_out,
    return_batch_normalised,
    step_and_episode,
)

TIGHT = {"rtol": 1e-5, "atol": 1e-7}
RETURNS = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 0.5])
GROUPS = torch.tensor([4, 4, 4, 9, 9, 7])


def test_golden_grpo() -> None:
    # the first group's mean is 1/3 and its population std √2/3
    got = group_relative(RETURNS, GROUPS)
    torch.testing.assert_close(got, torch.tensor([2**0.5, -(0.5**0.5), -(0.5**0.5), 0, 0, 0]), **TIGHT)


def test_golden_rloo() -> None:
    got = leave_one_out(RETURNS, GROUPS)
    torch.testing.assert_close(got, torch.tensor([1, -0.5, -0.5, 0, 0, 0]), **TIGHT)


@pytest.mark.parametrize("compare", [group_relative, leave_one_out])
def test_what_is_not_counted_gets_nothing_and_moves_nobody(compare: type) -> None:
    counted = torch.tensor([True, True, False, True, False, True])
    wild = RETURNS.masked_fill(~counted, 1e9)
    got = compare(wild, GROUPS, counted)
    assert not got[~counted].any()
    torch.testing.assert_close(got[:2], compare(RETURNS[:2], GROUPS[:2]), **TIGHT)
    assert not compare(wild, GROUPS, torch.zeros(6).bool()).any()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5, width=32)), min_size=1, max_size=20),
    st.floats(-3, 3, width=32),
)
def test_only_differences_inside_a_group_count(episodes: list[tuple[int, float]], shift: float) -> None:
    groups = torch.tensor([g for g, _ in episodes])
    returns = torch.tensor([r for _, r in episodes], dtype=torch.float64)
    moved = returns + shift * groups
    for compare in (group_relative, leave_one_out):
        got = compare(returns, groups)
        torch.testing.assert_close(compare(moved, groups), got, rtol=1e-5, atol=1e-5)
        assert got.isfinite().all()
        sums = torch.zeros(4, dtype=torch.float64).index_add(0, groups, got)
        torch.testing.assert_close(sums, torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 16, 128])
def test_who_earned_the_same_was_not_better_whatever_is_lost_in_rounding(size: int) -> None:
    groups = torch.tensor([0] * size + [1, 1])
    for hundredths in range(101):
        returns = torch.tensor([hundredths / 100] * size + [0.0, 1.0])
        for compare in (group_relative, leave_one_out):
            got = compare(returns, groups)
            assert not got[:size].any() and got[size:].all()
        rewards = returns[:size, None]
        assert not return_batch_normalised(rewards, torch.ones_like(rewards).bool(), gamma=0.9).any()


def test_the_same_rewards_in_another_order_are_the_same() -> None:
    g = torch.Generator().manual_seed(0)
    moves = torch.tensor([-0.01] * 30 + [0.1, 0.1, -0.1, 1.0])
    returns = torch.stack([moves[torch.randperm(34, generator=g)] for _ in range(8)]).sum(-1)
    assert len(returns.unique()) > 1
    for compare in (group_relative, leave_one_out):
        assert not compare(returns, torch.zeros(8).long()).any()
        assert compare(returns + torch.tensor([0.01] + [0.0] * 7), torch.zeros(8).long()).all()


def test_golden_rebn() -> None:
    mask = torch.tensor([[True, True, True], [True, False, False]])
    rewards = torch.tensor([[0.0, 0, 1], [0, float("nan"), float("nan")]])
    got = return_batch_normalised(rewards, mask, gamma=0.9)
    g = torch.tensor([0.81, 0.9, 1.0, 0.0])
    want = (g - g.mean()) / g.std(unbiased=False)
    torch.testing.assert_close(got[mask], want, **TIGHT)
    assert not got[~mask].any()


def test_a_batch_of_equals_teaches_nothing() -> None:
    same = return_batch_normalised(torch.ones(3, 1), torch.ones(3, 1).bool(), gamma=0.9)
    assert not same.any()
    assert not return_batch_normalised(torch.ones(2, 2), torch.zeros(2, 2).bool(), gamma=0.9).any()


def test_golden_step_and_episode() -> None:
    """Two episodes of one start state, γ = ½: returns 1.25 .5 against .7 .4 .8; each pair is ±1 by itself."""
    rewards = torch.tensor([[1.0, 0.5, 9.0], [0.5, 0.0, 0.8]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    got = step_and_episode(rewards, mask, torch.tensor([0, 0]), gamma=0.5, weight=0.25)
    want = torch.tensor([[1.25, 1.25, 0.0], [-1.25, -1.25, -0.25]])
    torch.testing.assert_close(got, want, **TIGHT)
    alone = step_and_episode(rewards, mask, torch.tensor([0, 1]), gamma=0.5)
    assert not alone.any()
    out = step_and_episode(rewards, mask, torch.tensor([0, 0]), torch.tensor([True, False]), gamma=0.5)
    assert not out.any()
