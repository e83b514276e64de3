"""Pictures that came over a wire as text."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any, cast

from blake3 import blake3
from PIL import Image as PilImage
from PIL import UnidentifiedImageError

from deskhand_sandbox.types import Image

MAX_PIXELS = 64_000_000
"""Of one picture: decoded it takes four bytes for each."""


def picture_of(text: str) -> Image:
    """A picture from its base64 text.

    Raises:
        ValueError: it is none, or one that is not read; says why.
    """
    try:
        data = base64.b64decode(text, validate=True)
        with PilImage.open(io.BytesIO(data)) as picture:
            width, height, kind = *picture.size, str(picture.format).lower()
    except (
        binascii.Error,
        ValueError,
        UnidentifiedImageError,
        OSError,
        PilImage.DecompressionBombError,
    ) as error:
        raise ValueError(f"holds what is no picture: {error}") from error
    if kind not in ("png", "jpeg", "webp"):
        raise ValueError(f"holds a {kind} picture; png, jpeg and webp are read")
    if width * height > MAX_PIXELS:
        raise ValueError(f"holds a picture of {width}x{height} pixels; {MAX_PIXELS} are read at most")
    digest = blake3(data).hexdigest()
    return Image(digest=digest, format=cast("Any", kind), width_px=width, height_px=height, data=data)
