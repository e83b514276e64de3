"""Generated pages as a real browser shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from deskhand_sandbox.backends.browser import create
from deskhand_sandbox.types import Split
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
