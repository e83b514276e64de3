"""A platform that answers over HTTP, and who asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from deskhand_platform.client import AsyncDeskhand


@pytest.fixture
async def client(url: str, token: str) -> AsyncIterator[AsyncDeskhand]:
    async with AsyncDeskhand(url, token, patience_s=5) as made:
        yield made
