"""Pictures of a page as records."""

from __future__ import annotations

import io

from blake3 import blake3
from PIL import Image as Picture

from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.types import Image


def picture(data: bytes, settings: PageSettings) -> Image:
    """An encoded screenshot of a page, named by its content."""
    width, height = settings.viewport_px
    return Image(
        digest=blake3(data).hexdigest(),
        format=settings.image_format,
        width_px=width,
        height_px=height,
        data=data,
    )


def blank(settings: PageSettings) -> Image:
    """A page that has drawn nothing yet."""
    buffer = io.BytesIO()
    Picture.new("RGB", settings.viewport_px, "white").save(buffer, format=settings.image_format.upper())
    return picture(buffer.getvalue(), settings)
