"""The warm start's optimizer: Muon for matrices inside layers, AdamW for everything else, one schedule."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import nn

from deskhand_sandbox import logs
from deskhand_trainer.errors import CheckpointMismatch, TrainingDiverged
from deskhand_trainer.side_by_side import add_gradients, side_by_side

log = logging.getLogger(__name__)
MOST_SKIPPED = 20
"""Steps in a row without a finite gradient, each left out, that end the training."""
_NOT_MATRICES = ("embed", "lm_head", "heads.", "patch_embed")
"""Embeddings, output layers and the first projection learn better under AdamW."""


class Schedule(Protocol):
    """What the optimizer reads of a config; see `PretrainConfig` and `SftConfig`."""

    @property
    def matrix_lr(self) -> float: ...
    @property
    def lr(self) -> float: ...
    @property
    def warmup_steps(self) -> int: ...
    @property
    def decay_share(self) -> float: ...
    @property
    def max_grad_norm(self) -> float: ...


class Muon(torch.optim.Optimizer):
    """Momentum made orthogonal by five Newton–Schulz steps (Jordan et al. 2024).

    torch's own works in bfloat16, which is many times slower on processors without it. Matrices of one shape
    are worked on together.
    """

    def __init__(
        self,
        parameters: list[nn.Parameter],
        *,
        lr: float,
        momentum: float = 0.95,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """
        Args:
            precision: of the Newton–Schulz steps.
        """
        super().__init__(parameters, {"lr": lr, "momentum": momentum})
        self._precision = precision

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One update of every matrix that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in by_shape.items():
                momenta = torch.stack([self._nesterov(p, group["momentum"]) for p in parameters])
                update = orthogonal(momenta.to(self._precision))
                scale = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
                for parameter, change in zip(parameters, update, strict=True):
                    parameter.add_(change, alpha=-scale)

    def _nesterov(self, parameter: nn.Parameter, momentum: float) -> torch.Tensor:
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        kept: torch.Tensor = state["momentum"]
        kept.lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(kept, momentum)


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """The nearest semi-orthogonal matrices, roughly: singular values end between about 0.7 and 1.2.

    Args:
        matrices: [n, rows, columns].
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.transpose(1, 2) if tall else x


class WarmStartOptimizer:
    """Muon (Jordan et al. 2024) and AdamW driven as one, over one stage."""

    def __init__(
        self,
        modules: Mapping[str, nn.Module],
        config: Schedule,
        *,
        scale: float = 1.0,
        precision: torch.dtype = torch.float32,
    ) -> None:
        """
        Args:
            modules: what is trained, by a name that stands before its parameters' names; those that need no
                gradient stay as they are.
            scale: of both rates, against the config's.
            precision: of Muon's inner steps; weights and moments are float32.
        """
        named = [
            (f"{top}.{name}", p)
            for top, module in modules.items()
            for name, p in module.named_parameters()
            if p.requires_grad
        ]
        matrices = [p for name, p in named if p.ndim == 2 and not any(k in name for k in _NOT_MATRICES)]
        chosen = {id(p) for p in matrices}
        others = [p for _, p in named if id(p) not in chosen]
        self._parameters = [*matrices, *others]
        self._config = config
        self._peaks = (config.matrix_lr * scale, config.lr * scale)
        self._muon = Muon(matrices, lr=self._peaks[0], precision=precision)
        self._adamw = torch.optim.AdamW(others, lr=self._peaks[1], betas=(0.9, 0.98), weight_decay=0.0)
        self._steps = 0
        self._skipped_in_row = 0

    def step(
        self, losses: Sequence[Callable[[], torch.Tensor]], progress: float, *, threads: int = 1
    ) -> float:
        """One update; left out where its gradient is not finite, for one step on NaN would end all weights.

        Args:
            losses: each computes a part; their sum is what falls.
            progress: share of the stage that is over, 0 to 1; the rates fall with it at the end.
            threads: how many parts are computed at a time.

        Returns:
            The sum.

        Raises:
            TrainingDiverged: no gradient was finite in `MOST_SKIPPED` steps in a row.
        """
        self._muon.zero_grad()
        self._adamw.zero_grad()

        def gradients(
            loss: Callable[[], torch.Tensor],
        ) -> tuple[torch.Tensor, Sequence[torch.Tensor | None]]:
            found = loss()
            return found.detach(), torch.autograd.grad(found, self._parameters, allow_unused=True)

        values: list[torch.Tensor] = []
        for value, found in side_by_side(gradients, losses, threads=threads):
            values.append(value)
            add_gradients(self._parameters, found)
        limit = self._config.max_grad_norm
        norm = nn.utils.clip_grad_norm_(self._parameters, limit if limit > 0 else math.inf)
        # a number asked of a GPU before all is given to it leaves it waiting
        total = sum(float(value) for value in values)
        if not torch.isfinite(norm):
            self._skip()
            return total
        self._skipped_in_row = 0
        rise = min(1.0, (self._steps + 1) / max(1, self._config.warmup_steps))
        fall = min(1.0, max(0.0, 1.0 - progress) / max(1e-9, self._config.decay_share))
        for optimizer, peak in ((self._muon, self._peaks[0]), (self._adamw, self._peaks[1])):
            for group in optimizer.param_groups:
                group["lr"] = peak * rise * fall
            optimizer.step()
        self._steps += 1
        return total

    def _skip(self) -> None:
        self._skipped_in_row += 1
        logs.say(log, "a step was left out: its gradient was not finite", level=logging.WARNING)
        if self._skipped_in_row >= MOST_SKIPPED:
            raise TrainingDiverged(
                f"no gradient was finite in {self._skipped_in_row} steps in a row: lower lr and matrix_lr or "
                "start from an earlier policy; the weights are those of the last good step"
            )

    def state(self) -> dict[str, Any]:
        """What `restore` takes."""
        return {
            "muon": self._muon.state_dict(),
            "adamw": self._adamw.state_dict(),
            "steps": self._steps,
            "skipped_in_row": self._skipped_in_row,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a kept state.

        Raises:
            CheckpointMismatch: it is of more or fewer parameters; nothing was changed.
        """
        there, here = ([_count(each[n]) for n in ("muon", "adamw")] for each in (state, self.state()))
        if there != here:
            raise CheckpointMismatch(
                f"the checkpoint is of a training of {sum(there)} parameters, and these settings train "
                f"{sum(here)}: go on with the 'freeze' and the 'perception_tasks' that the run began with, "
                "or begin it in a new folder"
            )
        self._muon.load_state_dict(state["muon"])
        self._adamw.load_state_dict(state["adamw"])
        self._steps = int(state["steps"])
        self._skipped_in_row = int(state.get("skipped_in_row", 0))


def _count(state: Mapping[str, Any]) -> int:
    """Of parameters, in a `state_dict()`."""
    return sum(len(group["params"]) for group in state["param_groups"])
