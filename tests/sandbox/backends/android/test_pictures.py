from __future__ import annotations

import io
from typing import Literal

import pytest
from PIL import Image as Picture

from deskhand_sandbox.backends.android.pictures import captured
from deskhand_sandbox.backends.android.settings import DeviceSettings
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.pictures import as_image, encoded

SCREEN = encoded(Picture.effect_noise((120, 200), 50).convert("RGB"))
PNG = SCREEN.data or b""


def test_a_whole_picture_is_shown_as_it_came_or_in_the_format_asked_for() -> None:
    assert captured(PNG, DeviceSettings()) == as_image(PNG, (120, 200)) == SCREEN
    jpeg = captured(PNG, DeviceSettings(image_format="jpeg"))
    with Picture.open(io.BytesIO(jpeg.data or b"")) as picture:
        assert (jpeg.format, picture.format, picture.size) == ("jpeg", "JPEG", (120, 200))


@pytest.mark.parametrize("format", ["png", "webp"])
@pytest.mark.parametrize(
    "data", [PNG[: len(PNG) // 2], PNG[:60], PNG[:12], PNG[:1000] + b"\0\0\0\0" + PNG[1004:]]
)
def test_a_damaged_picture_is_the_devices_failure(format: Literal["png", "webp"], data: bytes) -> None:
    with pytest.raises(InfrastructureError, match="the device gives a broken picture of its screen"):
        captured(data, DeviceSettings(image_format=format))
