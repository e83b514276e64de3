"""Pages drawn by a browser into shards, each drawn once: a run that was stopped goes on with the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_sandbox.types import Split
from deskhand_trainer.base.collection import collect
from deskhand_trainer.base.pages import look, page_tasks
from deskhand_trainer.base.shards import write_shard

PAGES_PER_SHARD = 256


async def draw_pages(
    source: SandboxSource,
    folder: Path,
    size: str,
    split: Split,
    count: int,
    *,
    owner: str,
    concurrency: int,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Path]:
    """The shards of the first `count` pages of a size and split; those that are there are left as they are.

    Args:
        folder: where they lie; made where it is missing.
        progress: told how many pages were drawn since the last call.

    Returns:
        in the order of their seeds; the same files for the same arguments, wherever they were drawn.

    Raises:
        InfrastructureError: a page failed in three sandboxes.
        OSError: no room.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    found: list[Path] = []
    tasks = await asyncio.to_thread(page_tasks, size, split, count)
    for first in range(0, count, PAGES_PER_SHARD):
        number = min(PAGES_PER_SHARD, count - first)
        path = folder / f"press{size}-{split}-{first:07d}-{number}.tar"
        if not path.exists():
            chunk = tasks[first : first + number]
            pages = await collect(source, chunk, look, owner=owner, concurrency=concurrency)
            await asyncio.to_thread(write_shard, path, pages)
            progress(number)
        found.append(path)
    return found


def size_px_of(shard: Path) -> tuple[int, int]:
    """Width and height of the pages of a shard of `draw_pages`, by its name."""
    size = shard.stem.removeprefix("press").rsplit("-", 3)[0]
    return SIZES_PX[size]


def pages_in(shard: Path) -> int:
    """How many pages a shard of `draw_pages` holds, by its name."""
    return int(shard.stem.rpartition("-")[2])
