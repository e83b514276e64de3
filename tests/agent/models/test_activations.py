from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers.activations import GELUTanh

from deskhand_agent.models.activations import activated


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_gelu_without_gradients_is_the_same(scale: float) -> None:
    states = scale * torch.randn(3, 50, 64, generator=torch.Generator().manual_seed(0))
    before = states.clone()
    with torch.no_grad():
        torch.testing.assert_close(activated(GELUTanh(), states), GELUTanh()(states), rtol=1e-5, atol=1e-6)
    assert torch.equal(states, before)


def test_gradients_and_other_functions_are_left_as_they_are() -> None:
    states = torch.linspace(-3, 3, 20, requires_grad=True)
    assert torch.equal(activated(GELUTanh(), states), GELUTanh()(states))
    with torch.no_grad():
        assert torch.equal(activated(nn.ReLU(), states), states.relu())
