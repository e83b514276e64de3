"""A page shown larger or smaller, as by a screen of more or fewer pixels: what it says stays true."""

from __future__ import annotations

import io
from dataclasses import replace

from PIL import Image as Picture

from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks.layout import Box
from deskhand_trainer.base.pages import SeenPage


def scaled(page: SeenPage, scale: float) -> SeenPage:
    """A page and its picture.

    Args:
        scale: how many pixels one of its own becomes, across as along.
    """
    assert page.image.data is not None
    with Picture.open(io.BytesIO(page.image.data)) as picture:
        size = round(picture.width * scale), round(picture.height * scale)
        image = encoded(picture.convert("RGB").resize(size, Picture.Resampling.LANCZOS))

    def box(found: Box) -> Box:
        left, top, right, bottom = (round(edge * scale, 1) for edge in found)
        return left, top, right, bottom

    return replace(
        page,
        image=image,
        things=tuple(
            replace(
                each, box=box(each.box), point=(round(each.point[0] * scale), round(each.point[1] * scale))
            )
            for each in page.things
        ),
        characters=tuple(replace(each, box=box(each.box)) for each in page.characters),
        content_top_px=page.content_top_px * scale,
    )
