"""The screen as the device gives it, and as an observation shows it."""

from __future__ import annotations

import io

from PIL import Image as Picture

from deskhand_sandbox.backends.android.settings import DeviceSettings
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.pictures import as_image, encoded
from deskhand_sandbox.types import Image


def captured(png: bytes, screen: DeviceSettings) -> Image:
    """What the device gave, in the format that is asked for.

    Raises:
        InfrastructureError: it is damaged or not whole.
    """
    try:
        with Picture.open(io.BytesIO(png)) as picture:
            if screen.image_format == "png":
                size_px = picture.size
                # its checksums to the end: a hundredth of the time that its pixels take
                picture.verify()
                return as_image(png, size_px)
            return encoded(picture.convert("RGB"), screen.image_format, quality=screen.image_quality)
    except (OSError, SyntaxError, ValueError, Picture.DecompressionBombError) as error:
        raise InfrastructureError(f"the device gives a broken picture of its screen: {error}") from error
