from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import BackendMissing, SandboxDied
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import (
    DeviceAction,
    EnvironmentSpec,
    JsonValue,
    Observation,
    Start,
    Task,
    VerifierSpec,
)
from deskhand_trainer.base.collection import collect
from deskhand_trainer.base.pages import look

LAYOUT: dict[str, Any] = {
    "size": [160, 210],
    "elements": [
        # tag, kind, text, value, flags, id, classes, fill, box, point, parent
        ["div", "", 'Click on the "ok" button.', "", 0, "query", "", "", [0, 0, 160, 50], [80, 25], -1],
        ["span", "", "ok", "", 0, "", "", "", [60, 5, 70, 15], [65, 10], 0],
        ["div", "", "okhello", "", 0, "area", "", "", [0, 50, 160, 210], [80, 130], -1],
        ["button", "submit", "ok", "", 4, "", "", "", [10, 60, 40, 80], [25, 70], 2],
        ["p", "", "hello", "", 0, "", "", "", [10, 90, 60, 102], [35, 96], 2],
        ["a", "", "hidden", "", 4, "", "", "", [10, 110, 60, 122], [-1, -1], 2],
    ],
    "characters": [["o", 12, 64, 18, 76, 3, 1], ["k", 18, 64, 24, 76, 3, 1], ["h", 10, 90, 16, 102, 4, 2]],
}


class Page(Sandbox):
    kind = "browser"

    def __init__(self, id_: str, dies_at: set[int]) -> None:
        self.id, self._dies_at, self.seed = id_, dies_at, -1

    async def reset(self, task: Task) -> Start:
        if task.seed in self._dies_at:
            self._dies_at.discard(task.seed)
            raise SandboxDied("the browser is gone")
        self.seed = task.seed
        data = f"page {task.seed}".encode()
        image = as_image(data, (160, 210))
        return Start(instruction="", observation=Observation(screenshot=image, captured_at_s=0, settled_ms=0))

    async def observe(self, *, text_tree: bool = False) -> Observation:
        raise NotImplementedError

    async def act(self, action: DeviceAction) -> Observation:
        raise NotImplementedError

    async def evaluate(self, expression: str) -> JsonValue:
        return LAYOUT

    async def close(self) -> None: ...


class Source:
    def __init__(self, dies_at: set[int]) -> None:
        self.leases, self.open, self._dies_at = 0, 0, dies_at

    @asynccontextmanager
    async def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AsyncIterator[Sandbox]:
        assert (kind, owner) == ("browser", "test")
        self.leases += 1
        self.open += 1
        try:
            yield Page(str(self.leases), self._dies_at)
        finally:
            self.open -= 1


def tasks(count: int) -> list[Task]:
    return [
        Task(
            id="miniwob/click-button",
            environment=EnvironmentSpec(kind="browser"),
            verifier=VerifierSpec(name="miniwob"),
            seed=seed,
        )
        for seed in range(count)
    ]


async def test_pages_come_in_the_tasks_order_with_what_can_be_pointed_at() -> None:
    source = Source(set())
    told: list[tuple[int, int]] = []
    pages = await collect(
        source, tasks(5), look, owner="test", concurrency=3, progress=lambda *p: told.append(p)
    )
    assert [page.seed for page in pages] == [0, 1, 2, 3, 4]
    assert sorted(told) == [(n, 5) for n in range(1, 6)]
    page = pages[0]
    assert [(each.role, each.name, each.point) for each in page.things] == [
        ("button", "ok", (25, 70)),
        ("text", "hello", (35, 96)),
    ]
    assert [each.words for each in page.things[0].descriptions] == ['"ok"', 'the "ok" button']
    words, belongs = page.words()
    assert [word.text for word in words] == ["ok", "h"]
    assert belongs == [0, 0, 1]
    assert page.content_top_px == 50
    assert source.open == 0


async def test_a_dead_browser_costs_no_page() -> None:
    source = Source({1, 3})
    pages = await collect(source, tasks(5), look, owner="test", concurrency=1)
    assert [page.seed for page in pages] == [0, 1, 2, 3, 4]
    assert source.leases == 3


async def test_a_page_that_kills_every_browser_ends_the_collection() -> None:
    class Cursed(set[int]):
        def discard(self, element: int) -> None: ...

    with pytest.raises(SandboxDied):
        await collect(Source(Cursed({2})), tasks(4), look, owner="test", concurrency=1)


async def test_a_missing_browser_is_told_as_what_it_is() -> None:
    """Whoever starts the run knows by it that another try is of no use."""

    class Missing(Source):
        @asynccontextmanager
        async def lease(self, kind: str, *, owner: str, wait_s: float = 60.0) -> AsyncIterator[Sandbox]:
            raise BackendMissing("no browser is installed")
            yield

    with pytest.raises(BackendMissing, match="no browser"):
        await collect(Missing(set()), tasks(4), look, owner="test", concurrency=2)
