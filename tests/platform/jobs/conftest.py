"""A platform that answers over HTTP, and who asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from deskhand_platform.client import AsyncDeskhand
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api


@pytest.fixture
async def url(services: Services) -> AsyncIterator[str]:
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        yield address_of(listener)


@pytest.fixture
async def client(url: str, token: str) -> AsyncIterator[AsyncDeskhand]:
    async with AsyncDeskhand(url, token, patience_s=5) as made:
        yield made
