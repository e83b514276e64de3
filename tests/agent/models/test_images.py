from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image as PilImage
from transformers import Qwen2VLImageProcessor

from deskhand_agent.errors import InferenceError
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.images import ImageCache, ImageSettings, patchify, sized_pixels
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]


def stock(settings: ImageSettings) -> Qwen2VLImageProcessor:
    return Qwen2VLImageProcessor(
        patch_size=settings.patch_px,
        merge_size=settings.merge,
        temporal_patch_size=settings.temporal,
        image_mean=list(settings.mean),
        image_std=list(settings.std),
        size={"shortest_edge": settings.min_pixels, "longest_edge": settings.max_pixels},
    )


@pytest.mark.parametrize("temporal", [1, 2])
@pytest.mark.parametrize("patch", [8, 14])
def test_patches_equal_the_stock_processor(
    bundle: ModelBundle, picture: Picture, patch: int, temporal: int
) -> None:
    settings = replace(bundle.images, patch_px=patch, temporal=temporal)
    pixels = sized_pixels(picture(), settings)
    expected = stock(settings)(PilImage.fromarray(pixels.numpy()), return_tensors="pt")
    torch.testing.assert_close(
        patchify(pixels[None], settings)[0], expected["pixel_values"], rtol=1e-5, atol=1e-5
    )
    assert expected["image_grid_thw"].tolist() == [[1, pixels.shape[0] // patch, pixels.shape[1] // patch]]


def test_padding_is_white_and_keeps_every_pixel(bundle: ModelBundle, picture: Picture) -> None:
    image = picture(width=45, height=30)
    assert image.data is not None
    pixels = sized_pixels(image, bundle.images)
    assert pixels.shape == (32, 48, 3)
    original = np.asarray(PilImage.open(io.BytesIO(image.data)))
    assert np.array_equal(pixels[:30, :45].numpy(), original)
    assert (pixels[30:] == 255).all()
    assert (pixels[:, 45:] == 255).all()


def test_a_picture_too_large_is_shrunk(bundle: ModelBundle, picture: Picture) -> None:
    pixels = sized_pixels(picture(width=200, height=100), bundle.images)
    assert pixels.shape[0] * pixels.shape[1] <= bundle.images.max_pixels
    assert all(side % bundle.images.factor_px == 0 for side in pixels.shape[:2])


def test_a_released_model_resizes_as_qwen_does(bundle: ModelBundle, picture: Picture) -> None:
    settings = replace(bundle.images, pad=False)
    width, height = settings.sized_px(45, 30)
    grid = stock(settings)(PilImage.new("RGB", (45, 30)), return_tensors="pt")["image_grid_thw"][0]
    assert grid.tolist() == [1, height // settings.patch_px, width // settings.patch_px]
    assert sized_pixels(picture(width=45, height=30), settings).shape == (height, width, 3)


def test_the_cache_forgets_the_oldest(bundle: ModelBundle, picture: Picture) -> None:
    first, second = picture(1), picture(2)
    cache = ImageCache(bundle.images, max_bytes=32 * 48 * 3)
    kept = cache.pixels(first)
    assert cache.pixels(first) is kept
    cache.pixels(second)
    assert cache.pixels(first) is not kept


@pytest.mark.parametrize("data", [None, b"not a picture"])
def test_unreadable_pictures_are_named(bundle: ModelBundle, picture: Picture, data: bytes | None) -> None:
    with pytest.raises(InferenceError, match=r"bytes|readable"):
        sized_pixels(replace(picture(), data=data), bundle.images)
