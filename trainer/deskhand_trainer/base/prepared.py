"""What a step learns from, as tensors: made on a processor, ahead of who trains, and learned anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from deskhand_trainer.base.asking import AskedBatch
from deskhand_trainer.base.labels import DenseBatch
from deskhand_trainer.base.packing import Packed

_BLANK_PATCHES, _BLANK_TOKENS, _BLANK_LETTERS = 0.1, 0.05, 0.01
"""Shares of empty places that are asked about too: most of a page is blank."""

Held = TypeVar("Held")


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedStrips:
    """Strips of pages for vision alone to read."""

    size_px: tuple[int, int]
    """Width and height of the pictures they are of."""
    dense: DenseBatch
    drawn: Mapping[str, Tensor]
    """Of each head the numbers of the places it is asked about (see `draw_places`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedPages(PreparedStrips):
    """Whole pages or changes, and questions about them."""

    asked: AskedBatch
    packed: Packed


def draw_places(batch: DenseBatch, seed: int) -> dict[str, Tensor]:
    """Of every perception head the places that hold something, and a share of the empty ones; not those
    nothing is known of. Counted through all pictures: a GPU that is to find them itself is waited for."""
    draws = torch.Generator().manual_seed(seed)

    def drawn(classes: Tensor, blank: float) -> Tensor:
        asked = (classes > 0) | ((classes == 0) & (torch.rand(classes.shape, generator=draws) < blank))
        return asked.flatten().nonzero()[:, 0]

    patch = drawn(batch.characters, _BLANK_PATCHES)
    token = drawn(batch.spelling[..., 0], _BLANK_TOKENS)
    return {
        "character": patch,
        "letter": patch,
        "spelling": token,
        "shown": drawn(batch.shown, _BLANK_LETTERS),
    }


def moved(held: Held, device: torch.device) -> Held:
    """The same with every tensor in it on a device."""
    found: Any = held
    if isinstance(held, Tensor):
        found = held.to(device, non_blocking=True)
    elif isinstance(held, tuple):
        found = tuple(moved(each, device) for each in cast("tuple[Any, ...]", held))
    elif isinstance(held, Mapping):
        found = {name: moved(each, device) for name, each in cast("Mapping[str, Any]", held).items()}
    elif isinstance(held, (PreparedStrips, DenseBatch, AskedBatch, Packed)):
        assert is_dataclass(held)
        found = replace(held, **{each.name: moved(getattr(held, each.name), device) for each in fields(held)})
    return found
