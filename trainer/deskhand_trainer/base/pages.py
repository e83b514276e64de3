"""Pages a base model learns to see from: screenshots of generated pages, and all that is on them.

They show `generated/press` (see `deskhand_sandbox.tasks.generated`); no word, font, theme or layout that only
test seeds show is on the page of a train seed.
"""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.generated import SIZES_PX, Thing, things
from deskhand_sandbox.tasks.layout import Box, CharacterBox, page_layout
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Image, Split, Task

TASK = "generated/press"
SIZES = tuple(SIZES_PX)
"""Ends of the task's name: "" (160x210), "-wide", "-large"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """Characters that stand together."""

    text: str
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenPage:
    """One page as it looked."""

    task_id: str
    seed: int
    image: Image
    """A PNG, with its bytes."""
    things: tuple[Thing, ...]
    characters: tuple[CharacterBox, ...]
    """In reading order of the document."""

    def words(self) -> list[Word]:
        """The page's words, in reading order of the document."""
        found: dict[int, list[CharacterBox]] = {}
        for each in self.characters:
            found.setdefault(each.word, []).append(each)
        return [
            Word(text="".join(each.character for each in word), box=_around([each.box for each in word]))
            for word in found.values()
        ]


def page_tasks(size: str, split: Split, count: int, offset: int = 0) -> list[Task]:
    """The tasks that show `count` pages of a size and split, after the first `offset`.

    Raises:
        InvalidTask: no such size, or a negative number.
    """
    return [make_task(TASK + size, seed) for seed in seeds(TASK + size, split, count, offset)]


async def look(sandbox: Sandbox, task: Task) -> SeenPage:
    """One page.

    Raises:
        InfrastructureError: the computer failed.
    """
    start = await sandbox.reset(task)
    layout = await page_layout(sandbox)
    return SeenPage(
        task_id=task.id,
        seed=task.seed,
        image=start.observation.screenshot,
        things=await things(sandbox),
        characters=layout.characters,
    )


def _around(boxes: list[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
