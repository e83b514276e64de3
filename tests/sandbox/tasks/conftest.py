from collections.abc import AsyncIterator

import pytest_asyncio

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, create


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend() -> AsyncIterator[BrowserBackend]:
    """One Chromium for a module's tests."""
    backend = create()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(backend: BrowserBackend) -> AsyncIterator[BrowserSandbox]:
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, BrowserSandbox)
        yield sandbox
