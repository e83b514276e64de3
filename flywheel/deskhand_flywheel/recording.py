"""How trajectories come into the store: step by step while they are played, or whole from elsewhere.

A picture is in the blob store before the row that names it, and a row is acknowledged after its commit: what
was acknowledged survives the death of any process. Writing the same thing twice is no error (a writer that
never saw its acknowledgement may try again); writing something else under the same name is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ScalarSelect, bindparam, exists, func, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.citing import Citing, refuse_condemned
from deskhand_flywheel.errors import (
    ConflictingRecord,
    CorruptBlob,
    MalformedRecord,
    MissingBlob,
    UnknownTrajectory,
)
from deskhand_flywheel.near_frames import NearFrames
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import dumps
from deskhand_sandbox.types import Image

_ENDED = exists().where(
    tables.trajectories.c.id == bindparam("trajectory_id"), tables.trajectories.c.end.is_not(None)
)
_OF_UNENDED = (
    sqlite.insert(tables.steps)
    .from_select(
        tables.steps.c.keys(),
        select(*(bindparam(c.name, type_=c.type) for c in tables.steps.c)).where(~_ENDED),
    )
    .on_conflict_do_nothing()
    .execution_options(preserve_rowcount=True)
)


class Recording(Citing):
    """Implements the agent's `StepSink`."""

    near_frames: NearFrames | None = None
    """Keeps frames that are all but the same once; None: only those of the same bytes."""

    async def begin(self, start: TrajectoryStart) -> None:
        """Record that an episode begins.

        Raises:
            ConflictingRecord: another trajectory has the id.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        await self._writer.submit(partial(self._write_start, start))

    async def step(self, trajectory_id: str, step: Step) -> None:
        """Record one step; its pictures first.

        Raises:
            UnknownTrajectory: `begin` was not called for it.
            ConflictingRecord: another step has that index, or the episode has ended without it.
            MalformedRecord: its reward is no finite number.
            MissingBlob: a picture came without data and is not in the blob store.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        if self.near_frames is not None:
            step = await self.near_frames.step(trajectory_id, step)
        keep = partial(self._keep_images, images_of_step(step))
        await keep()
        row = _StepRow.of(trajectory_id, step)
        try:
            await self._write_citing(keep, partial(self._writer.submit_to, self._write_steps, row))
        except IntegrityError as error:
            raise unknown(trajectory_id) from error

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        """Record that an episode has ended; its last picture first.

        Raises:
            UnknownTrajectory: `begin` was not called for it.
            ConflictingRecord: it ended before, otherwise.
            MissingBlob, StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        if self.near_frames is not None:
            end = await self.near_frames.end(trajectory_id, end)
        keep = partial(self._keep_images, images_of_end(end))
        await keep()
        write = partial(self._write_end, trajectory_id, end)
        await self._write_citing(keep, partial(self._writer.submit, write))

    async def add_trajectory(self, trajectory: Trajectory) -> bool:
        """Record an episode that was played elsewhere, all of it or nothing; True where it was not here yet.

        Its frames are kept as they are, whatever `near_frames` says: it stays equal to the last bit.

        Raises:
            ConflictingRecord: another trajectory has the id, or its steps or its end differ.
            MalformedRecord: a reward is no finite number.
            MissingBlob: a picture came without data and is not in the blob store.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        end = trajectory.end
        rows = [_StepRow.of(trajectory.id, step) for step in trajectory.steps]

        async def keep() -> None:
            for step in trajectory.steps:
                await self._keep_images(images_of_step(step))
            if end is not None:
                await self._keep_images(images_of_end(end))

        async def write(connection: AsyncConnection) -> bool:
            new = await self._write_start(trajectory.start, connection)
            await self._write_steps(connection, rows)
            if end is not None:
                await self._write_end(trajectory.id, end, connection)
            return new

        await keep()
        return await self._write_citing(keep, partial(self._writer.submit, write))

    async def _write_start(self, start: TrajectoryStart, connection: AsyncConnection) -> bool:
        """True where the id was new."""
        table = tables.trajectories
        row = {
            "id": start.id,
            "task_id": column_text(start.task.id),
            "seed": start.task.seed,
            "policy_id": column_text(start.policy_id),
            "split": start.split.value,
            "started_at_s": start.started_at_s,
            "start": dumps(start),
            "instruction": column_text(start.instruction),
        }
        labels = [
            {"trajectory_id": start.id, "key": column_text(key), "value": column_text(value)}
            for key, value in start.labels.items()
        ]
        added = await connection.execute(self.insert_new(table).values(row))
        if added.rowcount == 0:
            found = await connection.scalar(select(table.c.start).where(table.c.id == start.id))
            _same(found, row["start"], f"trajectory {start.id}")
            return False
        if labels:
            await connection.execute(tables.trajectory_labels.insert(), labels)
        return True

    async def _write_steps(self, connection: AsyncConnection, rows: Sequence[_StepRow]) -> None:
        if not rows:
            return
        await refuse_condemned(connection, {digest for row in rows for digest in row.digests})
        table = tables.steps
        if await self._insert_steps(connection, [row.values for row in rows]) == len(rows):
            return
        for row in rows:
            name, index = row.values["trajectory_id"], row.values["step_index"]
            of_this = (table.c.trajectory_id == name, table.c.step_index == index)
            found = await connection.scalar(select(table.c.step).where(*of_this))
            if found is None:
                raise ConflictingRecord(f"trajectory {name} has ended without a step {index}")
            _same(found, row.values["step"], f"step {index} of trajectory {name}")

    async def _insert_steps(self, connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert those that are new and of trajectories that have not ended; how many that were."""
        if self.database.is_sqlite:
            # in the same statement: another one would cost a quarter of what is written in a second
            return (await connection.execute(_OF_UNENDED, rows)).rowcount
        table, ids = tables.trajectories, {row["trajectory_id"] for row in rows}
        query = select(table.c.id, table.c.end.is_not(None)).where(table.c.id.in_(ids)).order_by(table.c.id)
        # locked: none ends while this transaction lasts
        found = (await connection.execute(query.with_for_update(read=True))).all()
        ended = {name for name, is_over in found if is_over}
        fresh = [row for row in rows if row["trajectory_id"] not in ended]
        return (await connection.execute(self.insert_new(tables.steps), fresh)).rowcount if fresh else 0

    async def _write_end(self, trajectory_id: str, end: TrajectoryEnd, connection: AsyncConnection) -> None:
        table, text = tables.trajectories, dumps(end)
        await refuse_condemned(connection, {image.digest for image in images_of_end(end)})
        row = {
            "ended_at_s": end.ended_at_s,
            "stop_reason": end.stop_reason.value,
            "failure": end.failure.value if end.failure else None,
            "success": end.outcome.success if end.outcome else None,
            "score": end.outcome.score if end.outcome else None,
            "length": steps_of(trajectory_id),
            "end": text,
            "stored_at_s": time.time(),
        }
        # PostgreSQL counts the steps as they are after those who write one have committed
        await connection.execute(select(table.c.id).where(table.c.id == trajectory_id).with_for_update())
        running = (table.c.id == trajectory_id, table.c.end.is_(None))
        changed = await connection.execute(update(table).where(*running).values(row))
        if changed.rowcount == 0:
            found = (await connection.execute(select(table.c.end).where(table.c.id == trajectory_id))).first()
            if found is None:
                raise unknown(trajectory_id)
            _same(found.end, text, f"the end of trajectory {trajectory_id}")

    async def _keep_images(self, images: Iterable[Image]) -> None:
        unique: dict[str, bytes | None] = {}
        for image in images:
            unique[image.digest] = image.data if image.data is not None else unique.get(image.digest)
        for digest, data in unique.items():
            if data is not None:
                try:
                    await self.blobs.put(data, digest=digest)
                except CorruptBlob as error:
                    raise ConflictingRecord(
                        f"a picture's bytes are not those of its digest {digest}"
                    ) from error
            elif not await self.blobs.has(digest):
                raise MissingBlob(f"picture {digest} came without data and is not in the blob store")


class _StepRow(NamedTuple):
    values: Mapping[str, Any]
    digests: frozenset[str]
    """Of the pictures it cites."""

    @classmethod
    def of(cls, trajectory_id: str, step: Step) -> _StepRow:
        if not math.isfinite(step.reward):
            what = f"step {step.index} of trajectory {trajectory_id}"
            raise MalformedRecord(f"the reward of {what} is {step.reward}, not a finite number")
        values = {
            "trajectory_id": trajectory_id,
            "step_index": step.index,
            "reward": float(step.reward),
            "step": dumps(step),
            "said": said(step),
        }
        return cls(values, frozenset(image.digest for image in images_of_step(step)))


def images_of_step(step: Step) -> list[Image]:
    """Every picture a step's record names."""
    request = step.decision.request
    return [step.observation.screenshot, *(request.images if request else ())]


def images_of_end(end: TrajectoryEnd) -> list[Image]:
    """Every picture an end's record names."""
    return [] if end.final_observation is None else [end.final_observation.screenshot]


def said(step: Step) -> str | None:
    """What a step is found by."""
    parts = [part for part in (step.decision.thought, step.decision.summary) if part]
    return column_text("\n".join(parts)) or None


def steps_of(trajectory_id: str) -> ScalarSelect[int]:
    """How many steps a trajectory has."""
    steps = tables.steps
    return select(func.count()).where(steps.c.trajectory_id == trajectory_id).scalar_subquery()


def _same(found: str | None, text: str | object, what: str) -> None:
    if found != text:
        raise ConflictingRecord(f"{what} was written before with other content; nothing was changed")


def unknown(trajectory_id: str) -> UnknownTrajectory:
    """The error of an id that no trajectory has."""
    return UnknownTrajectory(f"no trajectory {trajectory_id!r} in the store")
