"""Pictures as the model takes them: sized, normalised, cut into patches, exactly as the stock processor does.

The stock processor normalises and cuts one picture at a time through many small steps. Here the picture is
decoded and sized once, kept as bytes by its digest, and normalised and cut as part of the batch; a test
holds the result equal to the stock one.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image as PilImage
from torch import Tensor

from deskhand_agent.errors import InferenceError
from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSettings:
    """How a picture becomes patches."""

    patch_px: int
    merge: int
    """Patches per side that become one token."""
    temporal: int
    """Copies of a picture in one patch (a video model's two frames)."""
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    min_pixels: int
    max_pixels: int
    """A picture is scaled until its area lies between these."""
    pad: bool
    """Fill up with white at right and bottom, instead of stretching, where the picture is not larger than
    `max_pixels`: text stays sharp and coordinates stay pixels of the screenshot."""

    @property
    def factor_px(self) -> int:
        """Both sides of a sized picture are multiples of this."""
        return self.patch_px * self.merge

    def sized_px(self, width_px: int, height_px: int) -> tuple[int, int]:
        """Width and height the model sees: the frame its coordinates live in."""
        if self.pad:
            factor = self.factor_px
            width, height = -(-width_px // factor) * factor, -(-height_px // factor) * factor
            if width * height <= self.max_pixels:
                return width, height
        from qwen_vl_utils.vision_process import smart_resize

        height, width = smart_resize(
            height_px,
            width_px,
            factor=self.factor_px,
            min_pixels=self.min_pixels,
            max_pixels=self.max_pixels,
        )
        return width, height

    def tokens(self, width_px: int, height_px: int) -> int:
        """Length of the placeholder run of a picture of this size."""
        width, height = self.sized_px(width_px, height_px)
        return (width // self.factor_px) * (height // self.factor_px)


def sized_pixels(image: Image, settings: ImageSettings) -> Tensor:
    """Decode and size one picture.

    Returns:
        uint8 [height, width, 3].

    Raises:
        InferenceError: the picture came without its bytes, or they are no picture.
    """
    if image.data is None:
        raise InferenceError(
            f"image {image.digest[:12]} came without its bytes: fetch it from the blob store"
        )
    try:
        picture = PilImage.open(io.BytesIO(image.data)).convert("RGB")
    except (OSError, SyntaxError, ValueError, PilImage.DecompressionBombError) as error:
        raise InferenceError(f"image {image.digest[:12]} is not a readable picture: {error}") from error
    width, height = settings.sized_px(*picture.size)
    if picture.size != (width, height):
        if settings.pad and width >= picture.size[0] and height >= picture.size[1]:
            canvas = PilImage.new("RGB", (width, height), "white")
            canvas.paste(picture, (0, 0))
            picture = canvas
        else:
            picture = picture.resize((width, height))  # as qwen-vl-utils does
    return torch.from_numpy(np.array(picture))


def patchify(pixels: Tensor, settings: ImageSettings) -> Tensor:
    """Normalise pictures of one size and cut them into patches, in the order the model expects.

    Args:
        pixels: uint8 [b, height, width, 3].

    Returns:
        float32 [b, patches, 3 x temporal x patch x patch]; the patches of one merged token are neighbours.
    """
    batch, height, width, _ = pixels.shape
    patch, merge = settings.patch_px, settings.merge
    mean = torch.tensor(settings.mean, device=pixels.device) * 255.0
    std = torch.tensor(settings.std, device=pixels.device) * 255.0
    values = (pixels.float() - mean) / std
    grid = values.reshape(
        batch, height // patch // merge, merge, patch, width // patch // merge, merge, patch, 3
    )
    grid = grid.permute(0, 1, 4, 2, 5, 7, 3, 6)  # [b, rows, columns, merge, merge, 3, patch, patch]
    grid = grid.unsqueeze(6).expand(-1, -1, -1, -1, -1, -1, settings.temporal, -1, -1)
    return grid.reshape(batch, (height // patch) * (width // patch), 3 * settings.temporal * patch * patch)


class ImageCache:
    """Sized pictures by digest, the least recently used forgotten first. Safe for several threads."""

    def __init__(self, settings: ImageSettings, *, max_bytes: int = 256 * 2**20) -> None:
        self._settings = settings
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, Tensor] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[ImageCache], tuple[ImageSettings]]:
        # another process reads its own pictures
        return ImageCache, (self._settings,)

    def pixels(self, image: Image) -> Tensor:
        """uint8 [height, width, 3].

        Raises:
            InferenceError: see `sized_pixels`.
        """
        with self._lock:
            if (kept := self._kept.get(image.digest)) is not None:
                self._kept.move_to_end(image.digest)
                return kept
        pixels = sized_pixels(image, self._settings)
        with self._lock:
            if image.digest not in self._kept:
                self._kept[image.digest] = pixels
                self._bytes += pixels.numel()
            while self._bytes > self._max_bytes and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= dropped.numel()
        return pixels

    def grid(self, image: Image) -> tuple[int, int]:
        """Rows and columns of a picture's patches.

        Raises:
            InferenceError: see `sized_pixels`.
        """
        height, width, _ = self.pixels(image).shape
        return height // self._settings.patch_px, width // self._settings.patch_px

    def features(
        self, images: Sequence[Image], device: torch.device | None = None
    ) -> tuple[list[Tensor], list[tuple[int, int]]]:
        """Patches of every picture, and its grid.

        Args:
            device: where they are to be, and are cut; None: on the processor.

        Returns:
            per picture [patches, dim], and (rows, columns) of its patches.
        """
        pixels = [self.pixels(image) for image in images]
        by_size: dict[tuple[int, ...], list[int]] = {}
        for index, picture in enumerate(pixels):
            by_size.setdefault(tuple(picture.shape), []).append(index)
        features: list[Tensor] = [torch.empty(0)] * len(pixels)
        for members in by_size.values():
            for index, cut in zip(
                members,
                patchify(torch.stack([pixels[i] for i in members]).to(device), self._settings),
                strict=True,
            ):
                features[index] = cut
        return features, [self.grid(image) for image in images]
