"""A page that is shown elsewhere says what it said: every letter stands where it is said to stand."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
import torch
from PIL import Image as PilImage

from deskhand_trainer.base.augmentation import FARTHEST_PX, SMALLEST, shown_elsewhere
from deskhand_trainer.base.pages import SeenPage


@pytest.mark.asyncio(loop_scope="package")
async def test_what_is_told_moves_with_what_is_seen(seen_pages: list[SeenPage]) -> None:
    draw, moved, smaller = random.Random(0), 0, 0
    for page in seen_pages:
        pixels = _pixels(page)
        kept = pixels.clone()
        for _ in range(8):
            told, picture = shown_elsewhere(page, pixels, draw)
            assert picture.shape == pixels.shape
            assert [each.name for each in told.things] == [each.name for each in page.things]
            seen = next(n for n, each in enumerate(page.characters) if _seen(each.box, page))
            first, now = page.characters[seen].box, told.characters[seen].box
            scale = (now[2] - now[0]) / (first[2] - first[0])
            assert SMALLEST - 1e-6 <= scale <= 1 + 1e-6
            smaller += scale < 1 - 1e-6
            if abs(scale - 1) > 1e-6:
                continue
            x, y = round(now[0] - first[0]), round(now[1] - first[1])
            assert max(abs(x), abs(y)) <= FARTHEST_PX
            moved += (x, y) != (0, 0)
            one, other = _cut(pixels, first), _cut(picture, now)
            assert np.corrcoef(one.flatten(), other.flatten())[0, 1] > 0.95 or one.std() == 0
        assert torch.equal(pixels, kept)
    assert moved > len(seen_pages)
    assert smaller > len(seen_pages)


@pytest.mark.asyncio(loop_scope="package")
async def test_nothing_is_cut_off(seen_pages: list[SeenPage]) -> None:
    draw = random.Random(1)
    for page in seen_pages:
        width, height = page.image.width_px, page.image.height_px
        inside = [each for each in page.characters if _within(each.box, width, height)]
        if len(inside) < len(page.characters):
            continue
        for _ in range(8):
            told, _ = shown_elsewhere(page, _pixels(page), draw)
            assert all(_within(each.box, width, height) for each in told.characters)


def _seen(box: tuple[float, float, float, float], page: SeenPage) -> bool:
    large = box[2] - box[0] > 3 and box[3] - box[1] > 5
    return large and _within(box, page.image.width_px - 1, page.image.height_px - 1) and min(box[:2]) > 1


def _pixels(page: SeenPage) -> torch.Tensor:
    assert page.image.data is not None
    return torch.from_numpy(np.array(PilImage.open(io.BytesIO(page.image.data)).convert("RGB")))


def _cut(pixels: torch.Tensor, box: tuple[float, float, float, float]) -> np.ndarray:
    left, top, right, bottom = (int(edge) for edge in box)
    return pixels[max(0, top) : bottom, max(0, left) : right].numpy().astype(float).mean(-1)


def _within(box: tuple[float, float, float, float], width: int, height: int) -> bool:
    return box[0] >= -1 and box[1] >= -1 and box[2] <= width + 1 and box[3] <= height + 1
