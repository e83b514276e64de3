"""Pictures as records: encoded, and named by their content."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal, TypeAlias

from blake3 import blake3

from deskhand_sandbox.types import Image

if TYPE_CHECKING:
    from PIL import Image as Picture

Format: TypeAlias = Literal["png", "jpeg", "webp"]


def encoded(picture: Picture.Image, format: Format = "png", **options: int) -> Image:
    """A drawn picture; the same pixels always give the same bytes.

    Args:
        options: of Pillow's encoder, such as `quality` and `compress_level`.
    """
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return as_image(buffer.getvalue(), picture.size, format)


def as_jpeg(data: bytes, *, quality: int = 80) -> bytes:
    """An encoded picture as JPEG, for those who only look; one that is JPEG already stays as it is."""
    from PIL import Image as Picture

    with Picture.open(io.BytesIO(data)) as picture:
        if picture.format == "JPEG":
            return data
        out = io.BytesIO()
        picture.convert("RGB").save(out, "JPEG", quality=quality)
    return out.getvalue()


def as_image(data: bytes, size_px: tuple[int, int], format: Format = "png") -> Image:
    """A picture that is encoded already."""
    width, height = size_px
    return Image(digest=blake3(data).hexdigest(), format=format, width_px=width, height_px=height, data=data)


def size_px_of(data: bytes) -> tuple[int, int]:
    """Width and height of an encoded picture, which only its head is read for."""
    from PIL import Image as Picture

    with Picture.open(io.BytesIO(data)) as picture:
        return picture.size
