"""Into the store, from files that are read through before anything is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from deskhand_agent.types import Trajectory
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.errors import ConflictingRecord, DamagedInput, UnknownTrajectory
from deskhand_flywheel.exchange.formats import format_of
from deskhand_flywheel.exchange.types import Format, Guidance, Progress, Recorded, Remarks
from deskhand_flywheel.records import dumps
from deskhand_flywheel.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What came in."""

    format: str
    added: tuple[str, ...]
    """Ids of trajectories that were not here."""
    present: tuple[str, ...]
    """Ids of those that were, and are as they were."""
    unread: int
    """Turns of others whose action could not be read; they are there, as turns without one."""
    without_first: int
    """Episodes of others that kept no picture of the first screen; their first turn is left out."""


async def import_trajectories(
    store: Store,
    path: Path,
    *,
    format: str | None = None,
    guidance: Guidance | None = None,
    progress: Progress = lambda done, total: None,
) -> Imported:
    """Read a folder through, then write what is not in the store yet, each episode whole.

    Importing again adds nothing, and goes on where an import was cut off. Of an episode that is here already
    what was said is added where the same person or scorer has not spoken here.

    Args:
        format: None: seen from the files.

    Raises:
        UnknownFormat: no such format, or none that can be imported is there.
        DamagedInput: a file is not what its format says; nothing was imported.
        ConflictingRecord: another trajectory has an id; nothing was imported.
        ExchangeExtraMissing: a package the format needs is not installed.
        StorageFull, StoreUnavailable: the store refused; the episodes before are whole and stay.
    """
    guidance = guidance or Guidance()
    chosen = await asyncio.to_thread(format_of, path, format)
    total = unread = without_first = 0
    seen: dict[str, str] = {}
    async for recorded in _each(chosen, path, guidance):
        trajectory = recorded.trajectory
        content = _content(trajectory, path)
        if seen.setdefault(trajectory.id, content) != content:
            raise DamagedInput(str(path), f"two trajectories have the id {trajectory.id}")
        await _check(store, trajectory)
        total += 1
        unread += recorded.unread
        without_first += recorded.first_left_out
        progress(0, None)
    added: list[str] = []
    present: list[str] = []
    async for recorded in _each(chosen, path, guidance):
        trajectory = recorded.trajectory
        (added if await store.add_trajectory(trajectory) else present).append(trajectory.id)
        await _add_remarks(store, recorded.remarks)
        progress(len(added) + len(present), total)
    return Imported(
        format=chosen.name,
        added=tuple(added),
        present=tuple(present),
        unread=unread,
        without_first=without_first,
    )


def _content(trajectory: Trajectory, path: Path) -> str:
    """The digest of what would be written."""
    try:
        return digest_of(dumps(trajectory).encode())
    except RecursionError as error:
        raise DamagedInput(
            str(path), f"the brackets of trajectory {trajectory.id} are nested too deeply"
        ) from error


async def _each(format: Format, path: Path, guidance: Guidance) -> AsyncGenerator[Recorded]:
    assert format.read is not None
    episodes = format.read(path, guidance)
    while (recorded := await asyncio.to_thread(next, episodes, None)) is not None:
        yield recorded


async def _add_remarks(store: Store, remarks: Remarks) -> None:
    await store.add_scores(remarks.scores, replace=False)
    await store.add_outcome_scores(remarks.outcome_scores, replace=False)
    await store.add_step_values(remarks.step_values, replace=False)
    await store.add_notes(remarks.notes)


async def _check(store: Store, new: Trajectory) -> None:
    """Refuse an episode whose id another one has."""
    try:
        known = await store.trajectory(new.id)
    except UnknownTrajectory:
        return
    both = min(len(known.steps), len(new.steps))
    ends = known.end is not None and new.end is not None
    same = known.start == new.start and known.steps[:both] == new.steps[:both]
    # of an episode that has ended nobody else has more
    most = max(len(known.steps), len(new.steps))
    cut = any(each.end is not None and len(each.steps) < most for each in (known, new))
    if not same or cut or (ends and known.end != new.end):
        raise ConflictingRecord(
            f"trajectory {new.id} is in the store with other content; nothing was imported"
        )
