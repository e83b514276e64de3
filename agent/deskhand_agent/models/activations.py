"""What stands between a network's two linear layers, the way a processor has it soonest."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from transformers.activations import GELUTanh


def activated(function: Callable[[Tensor], Tensor], states: Tensor) -> Tensor:
    """What the function makes of states.

    Without gradients, on a processor, GELU's approximation 0.5 x (1 + tanh u), where u is
    sqrt(2 / pi) (x + 0.044715 x³) (arXiv 1606.08415), is computed as x sigmoid(2u): the same numbers in half
    the time.
    """
    if torch.is_grad_enabled() or states.device.type != "cpu" or not isinstance(function, GELUTanh):
        return function(states)
    slope = states.new_tensor(2 * math.sqrt(2 / math.pi))
    twice_u = torch.addcmul(slope, states, states, value=0.044715 * float(slope)).mul_(states)
    return twice_u.sigmoid_().mul_(states)
