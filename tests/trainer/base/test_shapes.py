"""What is said of shapes fits one of them, and no other."""

from __future__ import annotations

import random

import pytest

from deskhand_sandbox.backends.browser import create
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.layout import ElementBox
from deskhand_sandbox.types import Answer
from deskhand_trainer.base.pages import SeenPage, look
from deskhand_trainer.base.questions import Kind, ask
from deskhand_trainer.base.shapes import shapes


def drawn(tag: str, text: str = "", *, fill: str = "red", high: float = 10, at: int = 0) -> ElementBox:
    return ElementBox(
        tag=tag,
        kind="triangle" if tag == "polygon" else "",
        text=text,
        value="",
        checked=False,
        focused=False,
        id="",
        classes=(),
        fill=fill,
        box=(20.0 * at, 0.0, 20.0 * at + high, high),
        point=(20 * at + 5, 5),
        parent=None,
        clickable=True,
    )


def said(*elements: ElementBox) -> list[set[str]]:
    return [{each.words for each in thing.descriptions} for thing in shapes(elements)]


def test_a_description_fits_one_shape_and_no_other() -> None:
    circle, other, letter = said(
        drawn("circle", at=0), drawn("circle", fill="blue", high=20, at=1), drawn("text", "q", high=11, at=2)
    )
    sizes, colours, whats = ("small ", ""), ("red ", ""), ("circle", "shape")
    assert circle == {f"the {a}{b}{c}" for a in sizes for b in colours for c in whats} - {
        "the circle",
        "the shape",
    }
    assert {"the large item", "the blue item", "the large blue shape"} <= other
    assert {"the q", "the letter", "the red letter", "the small q"} <= letter
    assert not any("item" in each for each in letter)  # the circle is small and red as well


def test_without_another_size_nothing_is_said_of_it() -> None:
    (only,) = said(drawn("polygon"))
    assert only == {"the red triangle", "the red shape", "the red item", "the triangle", "the shape"}


def test_what_cannot_be_told_apart_or_clicked_is_left_out() -> None:
    assert said(drawn("rect", at=0), drawn("rect", at=1)) == []
    assert said(drawn("text", "two letters"), drawn("line"), drawn("circle", fill="#ff0000")) == []


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="package")
async def test_shapes_of_a_page_are_asked_for_and_read() -> None:
    backend = create()
    async with await backend.create() as sandbox:
        pages = [await look(sandbox, make_task("miniwob/click-shape", seed)) for seed in range(4)]
    await backend.close()
    for page in pages:
        _clicked_inside(page)
    draw = random.Random(0)
    read = [question for page in pages for _ in range(8) if (question := ask(page, Kind.READ_THING, draw))]
    assert read
    for question in read:
        assert isinstance(question.reply, Answer) and len(question.reply.text) == 1
        assert question.text.rstrip("?.").split()[-2:] != ["the", question.reply.text]


def _clicked_inside(page: SeenPage) -> None:
    assert page.things and {thing.role for thing in page.things} <= {"shape", "letter", "digit"}
    for thing in page.things:
        left, top, right, bottom = thing.box
        assert left <= thing.point[0] <= right and top <= thing.point[1] <= bottom
        assert top >= page.content_top_px
