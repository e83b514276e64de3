"""The API does what its description says, whatever it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.bench.api.contract import contract_breaks, open_reads
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api

DESCRIPTION = json.loads((Path(__file__).parents[3] / "web_ui/openapi.json").read_text())
"""Current, as test_app.py proves; every worker that collects this file would make it anew, for seconds."""


@pytest.fixture
async def url(services: Services, store: Store, record_episode: Any) -> AsyncIterator[str]:
    await record_episode(store)
    listener = listen("127.0.0.1", 0)
    async with services.talkers.running(), serve_api(services, listener):
        yield address_of(listener)


@pytest.mark.slow
async def test_no_request_breaks_it(url: str, token: str) -> None:
    errors, breaks, made = await asyncio.to_thread(contract_breaks, DESCRIPTION, url, token, examples=4)
    assert (errors, breaks) == ([], [])
    assert made > 100


async def test_nothing_is_read_without_a_token(url: str) -> None:
    assert await open_reads(DESCRIPTION, url) == []


def test_every_body_and_every_route_is_described() -> None:
    operations = [
        (f"{method} {path}", operation)
        for path, methods in DESCRIPTION["paths"].items()
        for method, operation in methods.items()
    ]
    assert [name for name, operation in operations if not operation.get("description")] == []
    assert [
        name
        for name, operation in operations
        if name.split()[1].startswith("/v1") and not {"401"} <= operation["responses"].keys()
    ] == []
    assert DESCRIPTION["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40])
async def test_a_number_no_database_holds_is_refused(client: httpx.AsyncClient, number: int) -> None:
    for path in (
        f"/v1/rounds/{number}",
        f"/v1/trajectories?min_turns={abs(number)}",
        f"/v1/events?follow=false&after={abs(number)}",
        f"/v1/tasks/events?follow=false&after={abs(number)}",
    ):
        refused = await client.get(path)
        assert refused.status_code == 422, path
