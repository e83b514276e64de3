"""The demonstrations that rollouts are played beside: one after another, and again from the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from deskhand_agent.types import Trajectory
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.single_steps import Screen, screen_at

Read = Callable[[Sequence[str]], Awaitable[Sequence[Trajectory]]]
"""Those of the store's episodes that can be read, with pictures."""


async def experts(
    ids: Sequence[str], read: Read, *, first: int, count: int
) -> tuple[list[tuple[int, Trajectory]], int]:
    """The next so many that can be read, each with its number.

    Args:
        ids: of all, in order.
        first: number to go on from; counts on through a run.

    Returns:
        Both them and the number to go on from next.

    Raises:
        RunRefused: none can be read.
    """
    found: list[tuple[int, Trajectory]] = []
    unreadable: set[str] = set()
    while len(found) < count:
        numbers = range(first, first + count - len(found))
        first = numbers.stop
        picked = [(number, ids[number % len(ids)]) for number in numbers]
        wanted = [each for each in dict.fromkeys(name for _, name in picked) if each not in unreadable]
        known = {t.id: t for t in await read(wanted)}
        found += [(number, known[name]) for number, name in picked if name in known]
        unreadable |= set(wanted) - set(known)
        if len(unreadable) == len(ids):
            raise RunRefused(
                f"none of the {len(ids)} demonstrations can be read (deskhand flywheel fsck): the run's "
                "alarm says why"
            )
    return found, first


async def screens(ids: Sequence[str], read: Read, *, first: int, count: int) -> list[Screen]:
    """So many screens, each of another demonstration while there are; see `experts`."""
    found, _ = await experts(ids, read, first=first, count=count)
    return [screen_at(expert, number=number, demonstrations=len(ids)) for number, expert in found]
