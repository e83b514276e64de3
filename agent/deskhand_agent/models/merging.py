"""One policy out of several specialists: parameters interpolated, as UI-TARS-2 does (arXiv:2509.02544).

It works where all of them were trained from one model: their weights then lie in one basin of the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.models.bundle import ModelBundle


def merged(bundles: Sequence[ModelBundle], weights: Sequence[float]) -> ModelBundle:
    """A model whose every weight is the weighted mean of theirs; they are left as they are.

    Args:
        bundles: of one architecture, with the same tokenizer and picture settings.
        weights: of each, positive; divided by their sum.

    Raises:
        ModelFilesError: two of them differ in more than weights; names what.
        ValueError: not as many weights as models, fewer than two, or one that is not positive or is too large
            to be divided by their sum.
    """
    if len(bundles) != len(weights) or len(bundles) < 2:
        raise ValueError(
            f"{len(weights)} weights for {len(bundles)} models: give one for each of two or more"
        )
    if not (all(weight > 0 for weight in weights) and math.isfinite(sum(weights))):
        raise ValueError(f"weights must be positive numbers with a finite sum, got {list(weights)}")
    first = bundles[0].model.state_dict()
    for other in bundles[1:]:
        _same_kind(bundles[0], other)
    shares = [weight / sum(weights) for weight in weights]
    states = [bundle.model.state_dict() for bundle in bundles]
    mean = {
        name: _mean([state[name] for state in states], shares) if value.is_floating_point() else value
        for name, value in first.items()
    }
    made = bundles[0].clone()
    made.model.load_state_dict(mean)
    return made


def _mean(values: Sequence[torch.Tensor], shares: Sequence[float]) -> torch.Tensor:
    total = sum(share * value.double() for share, value in zip(shares, values, strict=True))
    assert isinstance(total, torch.Tensor)
    return total.to(values[0].dtype)


def _same_kind(one: ModelBundle, other: ModelBundle) -> None:
    ours = {name: tuple(value.shape) for name, value in one.model.state_dict().items()}
    theirs = {name: tuple(value.shape) for name, value in other.model.state_dict().items()}
    if ours != theirs:
        name = next(n for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n))
        raise ModelFilesError(
            f"models of different architectures cannot be merged: {name} is {ours.get(name, 'missing')} in "
            f"one and {theirs.get(name, 'missing')} in another"
        )
    if one.processor_hash != other.processor_hash:
        raise ModelFilesError(
            "models with different tokenizers or picture settings cannot be merged: train both from one base"
        )
