"""Losses on pairs; pure functions of how much likelier each side has become."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def trajectory_dpo(gained: Tensor, *, beta: float) -> Tensor:
    """−log σ(β(Δ_w − Δ_l)): DPO (arXiv:2305.18290 eq. 7) with whole trajectories for replies.

    Of a trajectory's probability the environment's part is the same under both policies and cancels: Δ is the
    sum over every token the model wrote in it of log π − log π_ref.

    Args:
        gained: [P, 2] Δ of the better and of the worse side.
        beta: how much log-probability a preference is worth.

    Returns:
        [P].
    """
    return -F.logsigmoid(beta * (gained[:, 0] - gained[:, 1]))


def refuel(gained: Tensor, returns: Tensor, *, eta: float) -> Tensor:
    """((Δ_a − Δ_b)/η − (R_a − R_b))²: REFUEL (arXiv:2410.04612, its regression of relative futures).

    Two replies to one state; the difference of what followed is regressed by the difference of how much
    likelier each has become.

    Args:
        gained: [P, 2] log π − log π_old of the whole replies.
        returns: [P, 2] what the episodes earned from there on.
        eta: how much a return is worth in log-probability.

    Returns:
        [P].
    """
    return ((gained[:, 0] - gained[:, 1]) / eta - (returns[:, 0] - returns[:, 1])).square()
