"""Small pages drawn with Pillow, with boxes for everything on them, and a model small enough to train."""

from __future__ import annotations

import io

import pytest
from blake3 import blake3
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.tiny import TinyConfig
from deskhand_sandbox.types import Image
from deskhand_trainer.sft.pages import CharacterBox, ElementBox, PerceptionPage

WORDS = ("ok", "no", "yes", "next", "back", "send")


def encoded(picture: PilImage.Image) -> Image:
    out = io.BytesIO()
    picture.save(out, "PNG")
    data = out.getvalue()
    digest = blake3(data).hexdigest()
    return Image(digest=digest, format="png", width_px=picture.width, height_px=picture.height, data=data)


def draw_page(seed: int) -> PerceptionPage:
    picture = PilImage.new("RGB", (64, 64), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(11)
    characters: list[CharacterBox] = []
    elements: list[ElementBox] = []
    for row in range(2):
        word = WORDS[(seed + 2 * row + row * (seed // 6)) % len(WORDS)]
        left, top = 4 + (seed * 7) % 20, 16 + 24 * row
        x = float(left)
        for place, letter in enumerate(word):
            pen.text((x, top), letter, "black", font)
            width = font.getlength(letter)
            box = (x, float(top), x + width, float(top + 13))
            characters.append(CharacterBox(character=letter, box=box, starts_word=place == 0))
            x += width
        box = (float(left), float(top), x, float(top + 13))
        elements.append(ElementBox(kind="button", label=word, box=box))
    return PerceptionPage(
        image=encoded(picture),
        task_id="drawn",
        seed=seed,
        characters=tuple(characters),
        elements=tuple(elements),
        content_top_px=10.0,
    )


@pytest.fixture(scope="session")
def pages() -> list[PerceptionPage]:
    return [draw_page(seed) for seed in range(12)]


@pytest.fixture
def bundle() -> ModelBundle:
    return build_tiny(
        TinyConfig(
            patch_px=8,
            vision_width=16,
            vision_depth=1,
            vision_heads=2,
            text_width=32,
            text_depth=2,
            text_heads=2,
            text_mlp=48,
            max_side_px=64,
        )
    )
