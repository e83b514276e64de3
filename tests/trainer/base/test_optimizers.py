from __future__ import annotations

import pytest
import torch
from torch import nn

from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.optimizers import MOST_SKIPPED, Muon, WarmStartOptimizer, orthogonal
from deskhand_trainer.errors import TrainingDiverged


def test_singular_values_end_near_one() -> None:
    for shape in ((3, 8, 20), (3, 20, 8), (2, 16, 16)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape, generator=torch.manual_seed(0))))
        assert values.max() < 1.3
        assert values.median() > 0.6


def test_muon_equals_torchs_up_to_its_bfloat16() -> None:
    torch.manual_seed(0)
    mine, theirs = nn.Linear(12, 20, bias=False), nn.Linear(12, 20, bias=False)
    theirs.load_state_dict(mine.state_dict())
    one = Muon([mine.weight], lr=0.01)
    other = torch.optim.Muon([theirs.weight], lr=0.01, weight_decay=0.0, momentum=0.95)
    start = mine.weight.detach().clone()
    for _ in range(3):
        gradient = torch.randn(20, 12)
        mine.weight.grad, theirs.weight.grad = gradient.clone(), gradient.clone()
        one.step()
        other.step()
    moved, expected = mine.weight - start, theirs.weight - start
    assert torch.nn.functional.cosine_similarity(moved.flatten(), expected.flatten(), dim=0) > 0.98
    assert abs(moved.norm() / expected.norm() - 1) < 0.05


def test_rates_rise_hold_and_fall() -> None:
    layer = nn.Linear(4, 4)
    optimizer = WarmStartOptimizer({"m": layer}, PretrainConfig(warmup_steps=2, decay_share=0.5, lr=1.0))
    rates: list[float] = []
    for progress in (0.0, 0.1, 0.4, 0.75, 1.0):
        optimizer.step([lambda: layer(torch.ones(4)).sum()], progress)
        rates.append(optimizer.state()["adamw"]["param_groups"][0]["lr"])
    assert rates == [0.5, 1.0, 1.0, 0.5, 0.0]


def test_parts_add_up_whatever_the_threads() -> None:
    """The gradient is that of the sum, and the same to the bit with one thread and with two."""
    ends: list[torch.Tensor] = []
    for threads in (1, 2):
        torch.manual_seed(0)
        layer = nn.Linear(8, 8)
        optimizer = WarmStartOptimizer({"m": layer}, PretrainConfig(warmup_steps=0))
        inputs = [torch.randn(5, 8) for _ in range(3)]
        losses = [lambda x=x, layer=layer: (layer(x) ** 2).sum() for x in inputs]
        expected = sum(float(loss().detach()) for loss in losses)
        assert optimizer.step(losses, 0.0, threads=threads) == pytest.approx(expected)
        ends.append(layer.weight.detach().clone())
    assert torch.equal(*ends)


def test_a_limit_of_0_is_none() -> None:
    ends: list[torch.Tensor] = []
    for limit in (0.0, 1e9):
        torch.manual_seed(0)
        layer = nn.Linear(4, 4)
        start = layer.weight.detach().clone()
        optimizer = WarmStartOptimizer({"m": layer}, PretrainConfig(warmup_steps=0, max_grad_norm=limit))
        optimizer.step([lambda layer=layer: (layer(torch.ones(4)) ** 2).sum()], 0.0)
        assert not torch.equal(layer.weight, start)
        ends.append(layer.weight.detach().clone())
    assert torch.equal(*ends)


def test_a_gradient_that_is_not_finite_changes_nothing_and_many_in_a_row_end_the_training() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 4)

    def loss(worth: float) -> torch.Tensor:
        return worth * (layer(torch.ones(4)) ** 2).sum()

    optimizer = WarmStartOptimizer({"m": layer}, PretrainConfig(warmup_steps=0))
    start = layer.weight.detach().clone()
    for _ in range(MOST_SKIPPED - 1):
        optimizer.step([lambda: loss(float("nan"))], 0.0)
    assert torch.equal(layer.weight, start)
    optimizer.step([lambda: loss(1.0)], 0.0)
    good = layer.weight.detach().clone()
    assert not torch.equal(good, start)
    for _ in range(MOST_SKIPPED - 1):
        optimizer.step([lambda: loss(float("inf"))], 0.0)
    resumed = WarmStartOptimizer({"m": layer}, PretrainConfig(warmup_steps=0))
    resumed.restore(optimizer.state())
    with pytest.raises(TrainingDiverged, match="lower lr"):
        resumed.step([lambda: loss(float("nan"))], 0.0)
    assert torch.equal(layer.weight, good)
