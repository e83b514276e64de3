"""A model of some 50k parameters and pictures to show it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image as PilImage

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Image

SMALL = TinyConfig(
    patch_px=8,
    vision_width=16,
    vision_depth=1,
    vision_heads=2,
    text_width=32,
    text_depth=2,
    text_heads=2,
    text_mlp=48,
    max_side_px=64,
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def bundle() -> ModelBundle:
    return build_tiny(SMALL)


@pytest.fixture
def picture() -> Callable[..., Image]:
    """Makes a PNG of noise, another for every seed."""

    def make(seed: int = 0, width: int = 48, height: int = 30) -> Image:
        noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
        return encoded(PilImage.fromarray(noise))

    return make
