"""Pictures as records."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from blake3 import blake3
from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_sandbox.pictures import Format, as_image, encoded


def drawn() -> Picture.Image:
    picture = Picture.new("RGB", (40, 30), "white")
    ImageDraw.Draw(picture).ellipse((5, 5, 30, 25), fill="red")
    return picture


@pytest.mark.parametrize("format", get_args(Format))
def test_a_drawn_picture_is_encoded_sized_and_named_by_its_bytes(format: Format) -> None:
    image = encoded(drawn(), format)
    assert image.data is not None
    assert image.digest == blake3(image.data).hexdigest()
    with Picture.open(io.BytesIO(image.data)) as read:
        assert (read.format, read.size) == (format.upper(), (image.width_px, image.height_px))
    assert (image.format, image.width_px, image.height_px) == (format, 40, 30)
    assert encoded(drawn(), format).data == image.data
    assert as_image(image.data, (40, 30), format) == image


def test_what_is_lossless_keeps_every_pixel_and_options_reach_the_encoder() -> None:
    image, plain = encoded(drawn()), encoded(drawn(), compress_level=0)
    for each in (image, plain):
        assert each.data is not None
        with Picture.open(io.BytesIO(each.data)) as read:
            assert read.convert("RGB").tobytes() == drawn().tobytes()
    assert image.data is not None and plain.data is not None and len(image.data) < len(plain.data)
    worse, better = encoded(drawn(), "jpeg", quality=5), encoded(drawn(), "jpeg", quality=95)
    assert worse.digest != better.digest
