from __future__ import annotations

import math

import pytest
import torch

from deskhand_trainer.choices import Normalisation
from deskhand_trainer.normalisation import alike, normalise

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


def test_entries_of_a_group_count_by_their_weights() -> None:
    # a success in one turn beside a failure in three: of two episodes one succeeded
    got = normalise(
        torch.tensor([1.0, 0.0, 0.0, 0.0]),
        torch.ones(4).bool(),
        "group",
        groups=torch.zeros(4, dtype=torch.int64),
        weights=torch.tensor([1.0, 1 / 3, 1 / 3, 1 / 3]),
    )
    torch.testing.assert_close(got, torch.tensor([1.0, -1.0, -1.0, -1.0]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["batch", "group"])
def test_no_spread_gives_zero_whatever_is_lost_in_rounding(how: Normalisation) -> None:
    for count in (1, 2, 3, 8, 100, 1000):
        for hundredths in range(101):
            same = torch.full((count,), hundredths / 100)
            groups = torch.arange(count) % 2
            assert not normalise(same, torch.ones(count).bool(), how, groups=groups).any()


def test_alike_is_what_sums_in_another_order_come_to() -> None:
    g = torch.Generator().manual_seed(0)
    moves = torch.tensor([-0.01] * 50 + [0.1] * 20 + [-0.1] * 20 + [1.3])
    for size in (1.0, 1.7, 117.3):
        sums = torch.stack([size * moves[torch.randperm(91, generator=g)] for _ in range(64)]).sum(-1)
        assert len(sums.unique()) > 1 and alike(sums)
        assert not alike(torch.cat([sums, sums[:1] + 0.01]))
    assert alike(torch.zeros(0)) and not alike(torch.tensor([0.0, 1e-5]))
    assert not alike(torch.tensor([0.5, 0.5 + 1e-9], dtype=torch.float64))


def test_group_needs_groups() -> None:
    with pytest.raises(ValueError, match="group of each entry"):
        normalise(A, MASK, "group")
