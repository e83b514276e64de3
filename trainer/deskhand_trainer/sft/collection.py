"""Pages for the perception stage, taken from train seeds of tasks that are not held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.tasks.layout import PageLayout, page_layout
from deskhand_sandbox.types import Observation, Task
from deskhand_trainer.base.collection import collect
from deskhand_trainer.sft.pages import CharacterBox, ElementBox, PerceptionPage

_INSTRUCTION = "query"
"""Id of the element MiniWoB++ writes the instruction into."""
_PRESSED = ("submit", "button", "reset")
"""Kinds of input whose value is what stands on them."""


def page_from_layout(task: Task, observation: Observation, layout: PageLayout) -> PerceptionPage:
    """The record of one page: what can be clicked, and single texts, outside the instruction."""
    parents = {element.parent for element in layout.elements}
    asked = next((i for i, element in enumerate(layout.elements) if element.id == _INSTRUCTION), None)
    inside = _inside(layout, asked)
    elements = tuple(
        ElementBox(kind=e.tag, label=e.text or (e.value if e.kind in _PRESSED else ""), box=e.box)
        for index, e in enumerate(layout.elements)
        if index not in inside and e.point is not None and (e.clickable or (e.text and index not in parents))
    )
    words = [character.word for character in layout.characters]
    return PerceptionPage(
        image=observation.screenshot,
        task_id=task.id,
        seed=task.seed,
        characters=tuple(
            CharacterBox(character=c.character, box=c.box, starts_word=not at or words[at - 1] != c.word)
            for at, c in enumerate(layout.characters)
        ),
        elements=elements,
        content_top_px=0.0 if asked is None else layout.elements[asked].box[3],
    )


async def collect_pages(
    source: SandboxSource,
    tasks: Sequence[Task],
    *,
    owner: str,
    concurrency: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> list[PerceptionPage]:
    """Look at the start page of every task, in the tasks' order.

    Args:
        tasks: train-split tasks with seeds (see `perception_tasks`).
        progress: told pages done and in all.

    Raises:
        InfrastructureError: a page failed in three sandboxes.
    """
    return await collect(source, tasks, _look, owner=owner, concurrency=concurrency, progress=progress)


async def _look(sandbox: Sandbox, task: Task) -> PerceptionPage:
    start = await sandbox.reset(task)
    return page_from_layout(task, start.observation, await page_layout(sandbox))


def _inside(layout: PageLayout, root: int | None) -> set[int]:
    """The element at `root` and everything in it."""
    found: set[int | None] = set() if root is None else {root}
    for index, element in enumerate(layout.elements):
        if element.parent in found and element.parent is not None:
            found.add(index)
    return {index for index in found if index is not None}
