"""What a policy's own episodes show: which action led from one picture to the next.

Early experience (Zhang et al., arXiv 2510.08558) asks nobody whether an action was any good: failures teach
what actions do as well as successes, though there is nothing in them to imitate. Of their pages only the
pictures are known.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from deskhand_agent.episode import told_again
from deskhand_agent.types import Step, Trajectory
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_sandbox.types import Click, Image, Task, TypeText
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.drawing import PAGES_PER_SHARD, experience_shard
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import write_changes
from deskhand_trainer.run_folder import write_json

_LISTED = "experience.json"
_NEAR_PX = 4
"""A click as far away as this would have done the same."""
_ENDS = {size_px: end for end, size_px in SIZES_PX.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Experience:
    """What episodes showed."""

    shards: tuple[Path, ...]
    episodes: tuple[str, ...]
    """Ids of those that showed something; the others are in no shard."""


def experienced(trajectory: Trajectory) -> list[SeenChange]:
    """Its turns of one click or one typed text that changed the picture.

    Args:
        trajectory: with image data.
    """
    task, found = trajectory.start.task, list[SeenChange]()
    for step, after in zip(trajectory.steps, trajectory.steps[1:], strict=False):
        image, then = step.observation.screenshot, after.observation.screenshot
        action = _one_action(step)
        if action is None or told_again(step) or image.digest == then.digest:
            continue
        found.append(
            SeenChange(
                turn=step.index,
                before=_page(task, image),
                action=action,
                target=_around(action) if isinstance(action, Click) else None,
                after=_page(task, then),
            )
        )
    return found


async def write_experience(folder: Path, trajectories: AsyncIterable[Trajectory]) -> Experience:
    """Shards of what episodes show; those of an earlier call are left as they are, where all are there.

    Args:
        folder: where they lie; made where it is missing.
        trajectories: the same in every call: a shard that is missing is written again with the others.

    Raises:
        OSError: no room.
    """
    listed = folder / _LISTED
    kept = json.loads(listed.read_text()) if listed.exists() else None
    if isinstance(kept, dict):  # a list of names alone is of before episodes were told
        told = cast("dict[str, list[str]]", kept)
        shards = tuple(folder / name for name in told["shards"])
        if all(path.is_file() for path in shards):
            return Experience(shards=shards, episodes=tuple(told["episodes"]))
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    waiting: dict[str, list[SeenChange]] = {}
    found: list[Path] = []
    episodes: list[str] = []
    first = 0

    async def write(end: str, changes: Sequence[SeenChange]) -> None:
        nonlocal first
        path = folder / experience_shard(end, first, len(changes))
        await asyncio.to_thread(write_changes, path, changes)
        found.append(path)
        first += len(changes)

    async for trajectory in trajectories:
        # steps are of pages of one size: others wait for a model that sees more
        shown = [(end, each) for each in experienced(trajectory) if (end := _end_of(each)) is not None]
        if shown:
            episodes.append(trajectory.id)
        for end, change in shown:
            waiting.setdefault(end, []).append(change)
            if len(waiting[end]) == PAGES_PER_SHARD:
                await write(end, waiting.pop(end))
    for end, changes in sorted(waiting.items()):
        await write(end, changes)
    write_json(listed, {"shards": [path.name for path in found], "episodes": episodes})
    return Experience(shards=tuple(found), episodes=tuple(episodes))


def _end_of(change: SeenChange) -> str | None:
    image = change.after.image
    return _ENDS.get((image.width_px, image.height_px))


def _one_action(step: Step) -> Click | TypeText | None:
    match step.decision.actions:
        case (Click() | TypeText() as action,) if step.action_error is None:
            return action
        case _:
            return None


def _page(task: Task, image: Image) -> SeenPage:
    return SeenPage(task_id=task.id, seed=task.seed, image=image, things=(), characters=())


def _around(click: Click) -> tuple[float, float, float, float]:
    x, y = float(click.x), float(click.y)
    return x - _NEAR_PX, y - _NEAR_PX, x + _NEAR_PX, y + _NEAR_PX
