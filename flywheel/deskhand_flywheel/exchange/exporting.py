"""Out of the store, into a folder that is there whole or not at all."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import ParamSpec

from deskhand_flywheel.errors import FolderTaken
from deskhand_flywheel.exchange.formats import format_named
from deskhand_flywheel.exchange.types import Progress, Recorded, Remarks
from deskhand_flywheel.store import Store

P = ParamSpec("P")


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What went out."""

    trajectories: int
    steps: int


async def export_trajectories(
    store: Store,
    trajectory_ids: Sequence[str],
    folder: Path,
    format: str,
    *,
    progress: Progress = lambda done, total: None,
) -> Exported:
    """Write trajectories with their pictures and what was said of them, each once, in the order of the ids.

    Args:
        folder: to be made; must not be there, or be empty.

    Raises:
        UnknownFormat: no such format.
        ExchangeExtraMissing: a package it needs is not installed.
        FolderTaken: the folder holds something, or is the one that this process works in.
        UnknownTrajectory, MissingBlob, CorruptBlob: something of an episode is not in the store, or damaged;
            no folder is left.
    """
    chosen = format_named(format)
    trajectory_ids = [*dict.fromkeys(trajectory_ids)]
    folder = await asyncio.to_thread(folder.resolve)
    staging = await asyncio.to_thread(_staging, folder)
    steps = 0
    try:
        with chosen.write(staging) as add:
            for done, trajectory_id in enumerate(trajectory_ids):
                progress(done, len(trajectory_ids))
                recorded = await read_whole(store, trajectory_id)
                await _to_its_end(add, recorded)
                steps += len(recorded.trajectory.steps)
        await _to_its_end(_move_into_place, staging, folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    progress(len(trajectory_ids), len(trajectory_ids))
    return Exported(trajectories=len(trajectory_ids), steps=steps)


async def read_whole(store: Store, trajectory_id: str) -> Recorded:
    """An episode with its pictures and what was said of it.

    Raises:
        UnknownTrajectory, MissingBlob, CorruptBlob: something of it is not in the store, or damaged.
    """
    trajectory = await store.trajectory(trajectory_id, images=True)
    remarks = Remarks(
        scores=await store.scores(trajectory_id),
        outcome_scores=await store.outcome_scores(trajectory_id),
        step_values=await store.step_values(trajectory_ids=[trajectory_id]),
        notes=await store.notes(trajectory_id),
    )
    return Recorded(trajectory=trajectory, remarks=remarks)


async def _to_its_end(work: Callable[P, None], *args: P.args, **more: P.kwargs) -> None:
    """In a thread, which a cancellation waits for: it writes into the folder that is then cleared away."""
    working = asyncio.create_task(asyncio.to_thread(work, *args, **more))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise


def _staging(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTaken(f"{folder} is there already: name a new folder")
    if folder == Path.cwd():  # who stands in it would go on standing in the one that was replaced
        raise FolderTaken(f"{folder} is the folder you are in, which would be replaced: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))


def _move_into_place(staging: Path, folder: Path) -> None:
    # made for its owner alone; an export is for whoever may read the folder it lies in
    staging.chmod(0o755)
    try:
        # replaces an empty folder, and fails on a full one
        staging.rename(folder)
    except OSError as error:
        raise FolderTaken(f"{folder} was filled meanwhile: name a new folder") from error
