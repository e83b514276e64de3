"""Generated pages as a real browser shows them, and small changes drawn with Pillow."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_sandbox.backends.browser import create
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Action, Click, Split, TypeText
from deskhand_trainer.base.changes import FOCUS, SeenChange, change_tasks, watch
from deskhand_trainer.base.pages import SIZES, SeenPage, look, page_tasks


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def seen_pages() -> AsyncIterator[list[SeenPage]]:
    """Six pages of every size, of train seeds."""
    backend = create()
    found: list[SeenPage] = []
    for size in SIZES:
        async with await backend.create() as sandbox:
            found += [await look(sandbox, task) for task in page_tasks(size, Split.TRAIN, 6)]
    await backend.close()
    yield found


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def seen_changes() -> AsyncIterator[list[SeenChange]]:
    """What four actions change on each of ten pages of every size, of train seeds."""
    backend = create()
    found: list[SeenChange] = []
    for size in SIZES:
        async with await backend.create() as sandbox:
            for task in sorted(change_tasks(size, Split.TRAIN, 10), key=lambda task: task.id):
                found += await watch(sandbox, task)
    await backend.close()
    yield found


@pytest.fixture(scope="session")
def changes(pages: list[SeenPage]) -> list[SeenChange]:
    """Of every small page three: its first word checked, text typed over its last one, and nothing."""
    return [change for page in pages for change in (_checked(page), _typed(page), _nothing(page))]


def _checked(page: SeenPage) -> SeenChange:
    word = page.things[0]
    left, _, right, bottom = word.box
    box = (left, bottom + 1, right, bottom + 7)
    thing = replace(word, role="checkbox", state="off", box=box)
    before = _painted(page, box, "lightgray", thing)
    after = _painted(page, box, "black", replace(thing, state="on"))
    action = Click(x=round((left + right) / 2), y=round(bottom + 4))
    return _change(0, before, action, after)


def _typed(page: SeenPage) -> SeenChange:
    word = page.things[1]
    named, typed = replace(word, role="field", state=FOCUS, name=page.things[0].name), word.name
    before = _painted(page, word.box, "white", named)
    return _change(1, before, TypeText(text=typed), _painted(page, None, "", replace(named, value=typed)))


def _nothing(page: SeenPage) -> SeenChange:
    x, y = page.things[1].point
    return _change(2, page, Click(x=x, y=y), page)


def _change(turn: int, before: SeenPage, action: Action, after: SeenPage) -> SeenChange:
    target = before.things[0].box if isinstance(action, Click) else None
    return SeenChange(turn=turn, before=before, action=action, target=target, after=after)


def _painted(
    page: SeenPage, box: tuple[float, float, float, float] | None, color: str, thing: object
) -> SeenPage:
    assert page.image.data is not None
    picture = Picture.open(io.BytesIO(page.image.data)).convert("RGB")
    if box is not None:
        ImageDraw.Draw(picture).rectangle(box, fill=color)
    return replace(page, image=encoded(picture), things=(thing,))
