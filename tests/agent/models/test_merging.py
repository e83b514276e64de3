from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.merging import merged
from deskhand_agent.models.tiny import TinyConfig

SMALL = TinyConfig(vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1, text_heads=2,
                   text_mlp=64, max_side_px=64, grid_px=16, patch_px=8)  # fmt: skip


def made(seed: int) -> ModelBundle:
    return build_tiny(replace(SMALL, seed=seed))


def test_every_weight_is_the_weighted_mean() -> None:
    one, other = made(1), made(2)
    kept = {name: value.clone() for name, value in one.model.state_dict().items()}
    both = merged([one, other], [3, 1]).model.state_dict()
    for name, value in other.model.state_dict().items():
        torch.testing.assert_close(both[name], 0.75 * kept[name] + 0.25 * value)
    assert all(torch.equal(value, kept[name]) for name, value in one.model.state_dict().items())


def test_a_model_merged_with_itself_is_itself() -> None:
    one = made(1)
    same = merged([one, one, one], [0.2, 0.5, 7]).model.state_dict()
    for name, value in one.model.state_dict().items():
        torch.testing.assert_close(same[name], value, rtol=1e-6, atol=1e-8)


def test_what_does_not_fit_together_is_refused_by_name() -> None:
    with pytest.raises(ModelFilesError, match=r"different architectures.* is \(219, 32\) in one"):
        merged([made(1), build_tiny(replace(SMALL, text_width=64))], [1, 1])
    with pytest.raises(ModelFilesError, match="different tokenizers or picture settings"):
        other = made(1)
        other.pictures_first = not other.pictures_first
        merged([made(1), other], [1, 1])
    endless = ([math.inf, 1.0], [math.nan, 1.0], [1.0, math.nan], [1e308, 1e308])
    for weights in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, 1.0, 1.0], *endless):
        with pytest.raises(ValueError, match="weights"):
            merged([made(1), made(1)], weights)
