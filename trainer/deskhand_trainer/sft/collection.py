"""Pages for the perception stage, taken from train seeds of tasks that are not held out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.types import JsonValue, Observation, Task
from deskhand_trainer.sft.pages import Box, CharacterBox, ElementBox, PerceptionPage

_ATTEMPTS = 3
"""Times a page is tried before a broken computer ends the collection."""

LAYOUT = r"""
(() => {
  const width = innerWidth, height = innerHeight, characters = [], elements = [];
  const shown = (element, x, y) => {
    const top = document.elementFromPoint(x, y);
    return top !== null && (top === element || element.contains(top) || top.contains(element));
  };
  const middle = (b) => [(b.left + b.right) / 2, (b.top + b.bottom) / 2];
  const edges = (b) => [b.left, b.top, b.right, b.bottom];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, text = node.textContent;
    if (!parent || ['SCRIPT', 'STYLE', 'OPTION'].includes(parent.tagName)) continue;
    const style = getComputedStyle(parent);
    if (style.visibility === 'hidden' || style.display === 'none') continue;
    for (let i = 0; i < text.length; i++) {
      if (/\s/.test(text[i])) continue;
      const range = document.createRange();
      range.setStart(node, i); range.setEnd(node, i + 1);
      const box = range.getBoundingClientRect(), [x, y] = middle(box);
      if (!box.width || x < 0 || y < 0 || x >= width || y >= height || !shown(parent, x, y)) continue;
      characters.push([text[i], ...edges(box), i === 0 || /\s/.test(text[i - 1])]);
    }
  }
  const query = document.querySelector('#query');
  const asked = 'button,a,input,textarea,select,h3,label,li,td,span,p,div,[onclick]';
  for (const element of document.querySelectorAll(asked)) {
    const box = element.getBoundingClientRect(), [x, y] = middle(box);
    if (box.width < 3 || box.height < 3 || box.left < 0 || box.top < 0) continue;
    if (box.right > width || box.bottom > height) continue;
    if (query && query.contains(element)) continue;
    if (['DIV', 'SPAN', 'P', 'LI'].includes(element.tagName) && element.children.length) continue;
    const top = document.elementFromPoint(x, y);
    if (!top || !(top === element || element.contains(top))) continue;
    const field = element.tagName === 'INPUT' && element.type !== 'submit';
    const label = field ? '' : element.innerText || element.value;
    elements.push([element.tagName.toLowerCase(), (label || '').trim(), ...edges(box)]);
  }
  return {characters, elements, content_top: query ? query.getBoundingClientRect().bottom : 0};
})()
"""
"""Where every visible character and element of the page is."""


def page_from_layout(task: Task, observation: Observation, layout: Mapping[str, JsonValue]) -> PerceptionPage:
    """The record of one page.

    Args:
        layout: what `LAYOUT` returned.
    """
    characters = cast("list[list[Any]]", layout["characters"])
    elements = cast("list[list[Any]]", layout["elements"])
    return PerceptionPage(
        image=observation.screenshot,
        task_id=task.id,
        seed=task.seed,
        characters=tuple(
            CharacterBox(character=c[0], box=_box(c[1:5]), starts_word=bool(c[5])) for c in characters
        ),
        elements=tuple(ElementBox(kind=e[0], label=e[1], box=_box(e[2:6])) for e in elements),
        content_top_px=float(cast(float, layout["content_top"])),
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
    pages: dict[int, PerceptionPage] = {}
    waiting = list(enumerate(tasks))[::-1]
    failures: dict[int, int] = {}

    async def work() -> None:
        while waiting:
            kind = waiting[-1][1].environment.kind
            async with source.lease(kind, owner=owner) as sandbox:
                while waiting:
                    index, task = waiting.pop()
                    try:
                        pages[index] = await _look(sandbox, task)
                    except InfrastructureError:
                        failures[index] = failures.get(index, 0) + 1
                        if failures[index] >= _ATTEMPTS:
                            raise
                        waiting.append((index, task))
                        break  # that sandbox is not to be used again
                    if progress is not None:
                        progress(len(pages), len(tasks))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(tasks))):
            group.create_task(work())
    return [pages[index] for index in sorted(pages)]


async def _look(sandbox: Sandbox, task: Task) -> PerceptionPage:
    start = await sandbox.reset(task)
    layout = await sandbox.evaluate(LAYOUT)
    return page_from_layout(task, start.observation, cast("Mapping[str, JsonValue]", layout))


def _box(edges: Sequence[float]) -> Box:
    left, top, right, bottom = (float(edge) for edge in edges)
    return left, top, right, bottom
