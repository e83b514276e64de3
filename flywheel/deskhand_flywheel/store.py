"""The store: everything that happened, everything said about it, and what came of it.

    store = await Store.open("sqlite+aiosqlite:////home/me/deskhand.db", "file:///home/me/blobs")

Any number of processes may have the same store open. Its parts, one file each: `recording` (the agent's
`StepSink`), `trajectories`, `step_pages`, `step_curves`, `scores`, `step_values`, `outcome_scores`,
`annotations`, `judge_failures`, `review_queue`, `review_rules_kept`, `datasets`, `events`, `policies`;
`records` says how a record becomes a row.
"""

from __future__ import annotations

from typing import Self

from deskhand_flywheel.annotations import Annotations
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.database import Database
from deskhand_flywheel.datasets import Datasets
from deskhand_flywheel.events import Events
from deskhand_flywheel.judge_failures import JudgeFailures
from deskhand_flywheel.near_frames import NearFrames
from deskhand_flywheel.policies import Policies
from deskhand_flywheel.review_queue import ReviewQueue
from deskhand_flywheel.scores import Scores
from deskhand_flywheel.step_curves import Curves
from deskhand_flywheel.step_pages import StepPages
from deskhand_flywheel.step_values import StepValues


class Store(
    ReviewQueue, Scores, StepValues, Annotations, JudgeFailures, StepPages, Curves, Datasets, Events, Policies
):
    """An open store; close it, or use it as an async context manager."""

    @classmethod
    async def open(cls, db_url: str, blobs_url: str, *, near_frames: float | None = None) -> Self:
        """Open a store, making it where there is none and bringing an older one up to date.

        Args:
            db_url: SQLAlchemy URL with an async driver: "sqlite+aiosqlite:////folder/deskhand.db".
            blobs_url: obstore URL: "file:///folder/blobs", "s3://bucket/prefix".
            near_frames: share of a frame's pixels, 0 to 1, that may differ from the frame kept before in its
                trajectory for it not to be kept; 0 loses nothing. None: only equal bytes are kept once.

        Raises:
            StoreUnavailable: a URL is wrong, or what it names cannot be reached.
            StoreTooNew: a newer Deskhand wrote it.
            CorruptStore: the file is no database.
            StorageFull: no space is left.
        """
        blobs = BlobStore(blobs_url)
        store = cls(await Database.open(db_url), blobs)
        store.near_frames = None if near_frames is None else NearFrames(near_frames)
        return store

    async def close(self) -> None:
        """Write what still waits and let go of the database; safe to call twice."""
        await self._writer.close()
        await self.database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
