"""A base model before it has learned anything."""

from __future__ import annotations

from dataclasses import asdict

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_trainer.base.config import BaseModelConfig

LARGEST_PX = max(side for size in SIZES_PX.values() for side in size)


def fresh_base(sizes: BaseModelConfig, *, seed: int = 0) -> ModelBundle:
    """A model that speaks of pages and sees all of their sizes, the same for the same seed.

    Raises:
        ValueError: the sizes do not fit together; says which.
    """
    return build_tiny(TinyConfig(**asdict(sizes), vocabulary="pages", max_side_px=LARGEST_PX, seed=seed))
