from __future__ import annotations

import math

import pytest
import torch

from deskhand_trainer.normalisation import normalise

A = torch.tensor([1.0, 2.0, 3.0, 6.0, math.nan])
MASK = torch.tensor([1, 1, 1, 1, 0]).bool()


def test_none_leaves_and_masks() -> None:
    assert normalise(A, MASK, "none").tolist() == [1, 2, 3, 6, 0]


def test_batch_is_centred_with_population_std() -> None:
    got = normalise(A, MASK, "batch")
    std = math.sqrt((4 + 1 + 0 + 9) / 4)
    torch.testing.assert_close(got, torch.tensor([-2 / std, -1 / std, 0, 3 / std, 0]), rtol=1e-5, atol=1e-7)


def test_group_mean_batch_std() -> None:
    got = normalise(A, MASK, "group", groups=torch.tensor([0, 0, 1, 1, 1]))
    std = math.sqrt(14 / 4)
    want = torch.tensor([-0.5 / std, 0.5 / std, -1.5 / std, 1.5 / std, 0])
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-7)


def test_no_spread_gives_zero_not_nan() -> None:
    assert normalise(torch.full((4,), 0.7), torch.ones(4).bool(), "batch").abs().max() < 1e-6


def test_group_needs_groups() -> None:
    with pytest.raises(ValueError, match="group of each entry"):
        normalise(A, MASK, "group")
