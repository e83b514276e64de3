"""A page shown elsewhere in its picture, now and then smaller or paler: what it says stays true.

Vision cuts pictures into patches, so a letter looks different at each of their places; a page is drawn at one
of them. Nothing on the page is cut off.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import torch
from PIL import Image as PilImage
from torch import Tensor

from deskhand_sandbox.tasks.layout import Box
from deskhand_trainer.base.pages import SeenPage

FARTHEST_PX = 8
"""A page is moved this far at most: by a patch every place of it within patches has been seen."""
SMALLER, SMALLEST, SQUEEZED = 0.35, 0.84, 0.06
"""Share of pages that are made smaller, by how much at most, and how much more in one direction."""
PALER = 0.3
"""Share of pages whose contrast and brightness change."""
_RESAMPLING = (PilImage.Resampling.LANCZOS, PilImage.Resampling.BICUBIC, PilImage.Resampling.BOX)


def shown_elsewhere(page: SeenPage, pixels: Tensor, draw: random.Random) -> tuple[SeenPage, Tensor]:
    """A page and its picture, changed alike.

    Args:
        pixels: uint8 [height, width, 3].
    """
    height, width = int(pixels.shape[0]), int(pixels.shape[1])
    boxes = [each.box for each in page.things] + [each.box for each in page.characters]
    if not boxes:
        return page, pixels
    across = along = 1.0
    if draw.random() < SMALLER:
        across = draw.uniform(SMALLEST, 1.0)
        along = min(1.0, max(SMALLEST, across * draw.uniform(1 - SQUEEZED, 1 + SQUEEZED)))
    left, top = (min(box[side] for box in boxes) for side in (0, 1))
    right, bottom = (max(box[side] for box in boxes) for side in (2, 3))
    sized = round(width * across), round(height * along)
    x = _moved(draw, width, sized[0], left * across, right * across)
    y = _moved(draw, height, sized[1], top * along, bottom * along)
    picture = pixels.numpy()
    if sized != (width, height):
        picture = np.asarray(PilImage.fromarray(picture).resize(sized, draw.choice(_RESAMPLING)))
    # what lies around it is as its edge
    rows = (np.arange(height) - y).clip(0, sized[1] - 1)
    columns = (np.arange(width) - x).clip(0, sized[0] - 1)
    picture = picture[rows][:, columns]
    if draw.random() < PALER:
        contrast, brightness = draw.uniform(0.75, 1.1), draw.uniform(-16, 16)
        changed = (picture.astype(np.float32) - 128) * contrast + 128 + brightness
        picture = changed.clip(0, 255).astype(np.uint8)

    def box(found: Box) -> Box:
        return found[0] * across + x, found[1] * along + y, found[2] * across + x, found[3] * along + y

    def point(found: tuple[int, int]) -> tuple[int, int]:
        return round(found[0] * across + x), round(found[1] * along + y)

    told = replace(
        page,
        things=tuple(replace(each, box=box(each.box), point=point(each.point)) for each in page.things),
        characters=tuple(replace(each, box=box(each.box)) for each in page.characters),
        content_top_px=page.content_top_px * along + y if page.content_top_px else 0.0,
    )
    return told, torch.from_numpy(np.ascontiguousarray(picture))


def _moved(draw: random.Random, whole: int, sized: int, first: float, last: float) -> int:
    """By how many pixels a page is moved of which the things stand between `first` and `last`."""
    least = max(-FARTHEST_PX, -math.floor(first))
    most = min(FARTHEST_PX + whole - sized, math.floor(whole - last))
    return draw.randint(least, most) if least <= most else 0
