"""The store's trajectories: written step by step, read whole or as summaries.

A picture is in the blob store before the row that names it, and a row is acknowledged after its commit: what
was acknowledged survives the death of any process. Writing the same thing twice is no error (a writer that
never saw its acknowledgement may try again); writing something else under the same name is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, ScalarSelect, Select, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.citing import Citing, none_condemned, refuse_condemned
from deskhand_flywheel.errors import ConflictingRecord, InvalidQuery, MissingBlob, UnknownTrajectory
from deskhand_flywheel.filters import matches
from deskhand_flywheel.near_frames import NearFrames
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import dumps, loads
from deskhand_flywheel.types import TrajectoryFilter, TrajectoryPage, TrajectorySummary
from deskhand_sandbox.types import Image, Observation

MAX_PAGE = 500
_CHUNK = 200
"""Ids in one query: below every database's limit on parameters."""


class Trajectories(Citing):
    """Implements the agent's `StepSink`."""

    near_frames: NearFrames | None = None
    """Keeps frames that are all but the same once; None: only those of the same bytes."""

    # ---- written by the episode loop ----

    async def begin(self, start: TrajectoryStart) -> None:
        """Record that an episode begins.

        Raises:
            ConflictingRecord: another trajectory has the id.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
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

        async def write(connection: AsyncConnection) -> None:
            added = await connection.execute(self.insert_new(tables.trajectories).values(row))
            if added.rowcount == 0:
                column = tables.trajectories.c.start
                found = await connection.scalar(select(column).where(tables.trajectories.c.id == start.id))
                _same(found, row["start"], f"trajectory {start.id}")
            elif labels:
                await connection.execute(tables.trajectory_labels.insert(), labels)

        await self._writer.submit(write)

    async def step(self, trajectory_id: str, step: Step) -> None:
        """Record one step; its pictures first.

        Raises:
            UnknownTrajectory: `begin` was not called for it.
            ConflictingRecord: another step has that index.
            MissingBlob: a picture came without data and is not in the blob store.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        if self.near_frames is not None:
            step = await self.near_frames.step(trajectory_id, step)
        images = images_of_step(step)
        await self._keep_images(images)
        digests = sorted({image.digest for image in images})
        text = dumps(step)
        row = {
            "trajectory_id": trajectory_id,
            "step_index": step.index,
            "reward": float(step.reward),
            "step": text,
            "said": said(step),
        }

        async def write(connection: AsyncConnection) -> None:
            if not await self._insert_citing(connection, tables.steps, row, digests):
                query = select(tables.steps.c.step).where(
                    tables.steps.c.trajectory_id == trajectory_id, tables.steps.c.step_index == step.index
                )
                found = await connection.scalar(query)
                _same(found, text, f"step {step.index} of trajectory {trajectory_id}")

        try:
            await self._write_citing(lambda: self._keep_images(images), write)
        except IntegrityError as error:
            raise _unknown(trajectory_id) from error

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None:
        """Record that an episode has ended; its last picture first.

        Raises:
            UnknownTrajectory: `begin` was not called for it.
            ConflictingRecord: it ended before, otherwise.
            MissingBlob, StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        if self.near_frames is not None:
            end = await self.near_frames.end(trajectory_id, end)
        images = [end.final_observation.screenshot] if end.final_observation else []
        await self._keep_images(images)
        digests = [image.digest for image in images]
        text = dumps(end)
        table = tables.trajectories
        row = {
            "ended_at_s": end.ended_at_s,
            "stop_reason": end.stop_reason.value,
            "failure": end.failure.value if end.failure else None,
            "success": end.outcome.success if end.outcome else None,
            "score": end.outcome.score if end.outcome else None,
            "length": _steps_of(trajectory_id),
            "end": text,
        }

        async def write(connection: AsyncConnection) -> None:
            changed = await connection.execute(
                update(table)
                .where(table.c.id == trajectory_id, table.c.end.is_(None), none_condemned(digests))
                .values(row)
            )
            if changed.rowcount == 0:
                await refuse_condemned(connection, digests)
                found = (
                    await connection.execute(select(table.c.end).where(table.c.id == trajectory_id))
                ).first()
                if found is None:
                    raise _unknown(trajectory_id)
                _same(found.end, text, f"the end of trajectory {trajectory_id}")

        await self._write_citing(lambda: self._keep_images(images), write)

    # ---- read ----

    async def trajectory(self, trajectory_id: str, *, images: bool = False) -> Trajectory:
        """One trajectory as far as it is written; with `images`, every picture has its bytes.

        Raises:
            UnknownTrajectory: there is none of that id.
            MissingBlob, CorruptBlob: a picture is gone or damaged (only with `images`).
            UnknownSchemaVersion, MalformedRecord: a row this version cannot read.
        """
        async for trajectory in self.each_trajectory([trajectory_id], images=images):
            return trajectory
        raise _unknown(trajectory_id)

    async def each_trajectory(
        self, trajectory_ids: Iterable[str], *, images: bool = False
    ) -> AsyncGenerator[Trajectory]:
        """Whole trajectories in the order of the ids, a few at a time in memory.

        Raises:
            As `trajectory`.
        """
        wanted = list(trajectory_ids)
        for begin in range(0, len(wanted), _CHUNK):
            chunk = wanted[begin : begin + _CHUNK]
            found = await self._load(chunk)
            for trajectory_id in chunk:
                if trajectory_id not in found:
                    raise _unknown(trajectory_id)
                trajectory = found[trajectory_id]
                yield await self._with_images(trajectory) if images else trajectory

    async def trajectories(
        self,
        chosen: TrajectoryFilter | None = None,
        *,
        cursor: str | None = None,
        limit: int = 50,
    ) -> TrajectoryPage:
        """A page of summaries, newest first.

        Args:
            cursor: `next_cursor` of the page before; None for the first.
            limit: at most this many, 1 to 500.

        Raises:
            InvalidQuery: the limit is out of range.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidQuery(f"a page holds 1 to {MAX_PAGE} trajectories, not {limit}")
        table = tables.trajectories
        query = _summaries().where(matches(chosen or TrajectoryFilter()))
        if cursor is not None:
            query = query.where(table.c.id < cursor)
        # one more than asked for tells whether there is a next page
        query = query.order_by(table.c.id.desc()).limit(limit + 1)
        async with self.database.read() as connection:
            rows = (await connection.execute(query)).all()
        items = tuple(_summary(row) for row in rows[:limit])
        return TrajectoryPage(items=items, next_cursor=items[-1].id if len(rows) > limit else None)

    async def summary(self, trajectory_id: str) -> TrajectorySummary:
        """One trajectory without its steps.

        Raises:
            UnknownTrajectory: there is none of that id.
        """
        async with self.database.read() as connection:
            row = (
                await connection.execute(_summaries().where(tables.trajectories.c.id == trajectory_id))
            ).first()
        if row is None:
            raise _unknown(trajectory_id)
        return _summary(row)

    async def trajectory_ids(self, chosen: TrajectoryFilter | None = None) -> tuple[str, ...]:
        """Every id the filter lets through, oldest first."""
        table = tables.trajectories
        query = select(table.c.id).where(matches(chosen or TrajectoryFilter())).order_by(table.c.id)
        async with self.database.read() as connection:
            return tuple((await connection.scalars(query)).all())

    async def count_trajectories(self, chosen: TrajectoryFilter | None = None) -> int:
        """How many the filter lets through."""
        query = select(func.count()).select_from(tables.trajectories)
        async with self.database.read() as connection:
            return await connection.scalar(query.where(matches(chosen or TrajectoryFilter()))) or 0

    async def image(self, digest: str) -> bytes:
        """A picture's encoded bytes, checked against their digest.

        Raises:
            MissingBlob: there is no such picture.
            CorruptBlob: its bytes were changed or cut.
        """
        return await self.blobs.get(digest)

    # ---- inside ----

    async def _keep_images(self, images: Iterable[Image]) -> None:
        for image in images:
            if image.data is None:
                if not await self.blobs.has(image.digest):
                    raise MissingBlob(
                        f"picture {image.digest} came without data and is not in the blob store"
                    )
            elif digest_of(image.data) != image.digest:
                raise ConflictingRecord(f"a picture's bytes are not those of its digest {image.digest}")
            else:
                await self.blobs.put(image.data)

    async def _load(self, trajectory_ids: Sequence[str]) -> dict[str, Trajectory]:
        table, steps = tables.trajectories, tables.steps
        async with self.database.read() as connection:
            heads = (
                await connection.execute(
                    select(table.c.id, table.c.start, table.c.end).where(table.c.id.in_(trajectory_ids))
                )
            ).all()
            rows = (
                await connection.execute(
                    select(steps.c.trajectory_id, steps.c.step)
                    .where(steps.c.trajectory_id.in_(trajectory_ids))
                    .order_by(steps.c.trajectory_id, steps.c.step_index)
                )
            ).all()
        written: dict[str, list[Step]] = {head.id: [] for head in heads}
        for row in rows:
            # a trajectory begun between the two queries has steps and no head yet
            if row.trajectory_id in written:
                written[row.trajectory_id].append(loads(Step, row.step))
        return {
            head.id: Trajectory(
                start=loads(TrajectoryStart, head.start),
                steps=tuple(written[head.id]),
                end=None if head.end is None else loads(TrajectoryEnd, head.end),
            )
            for head in heads
        }

    async def _with_images(self, trajectory: Trajectory) -> Trajectory:
        steps = [await self._step_with_images(step) for step in trajectory.steps]
        end = trajectory.end
        if end is not None and end.final_observation is not None:
            end = replace(end, final_observation=await self._seen(end.final_observation))
        return replace(trajectory, steps=tuple(steps), end=end)

    async def _step_with_images(self, step: Step) -> Step:
        decision = step.decision
        if decision.request is not None:
            shown = tuple([await self._filled(image) for image in decision.request.images])
            decision = replace(decision, request=replace(decision.request, images=shown))
        return replace(step, observation=await self._seen(step.observation), decision=decision)

    async def _seen(self, observation: Observation) -> Observation:
        return replace(observation, screenshot=await self._filled(observation.screenshot))

    async def _filled(self, image: Image) -> Image:
        return replace(image, data=await self.blobs.get(image.digest))


def _summaries() -> Select[Any, Any, int, Any]:
    table, steps = tables.trajectories, tables.steps
    of_this = steps.c.trajectory_id == table.c.id
    return select(
        table.c.start,
        table.c.end,
        select(func.count()).where(of_this).scalar_subquery().label("steps"),
        select(func.coalesce(func.sum(steps.c.reward), 0.0)).where(of_this).scalar_subquery().label("reward"),
    )


def _summary(row: Row[Any, Any, int, Any]) -> TrajectorySummary:
    start = loads(TrajectoryStart, row.start)
    end = None if row.end is None else loads(TrajectoryEnd, row.end)
    return TrajectorySummary(
        id=start.id,
        task_id=start.task.id,
        seed=start.task.seed,
        instruction=start.instruction,
        policy_id=start.policy_id,
        policy_update=start.policy_update,
        group_id=start.group_id,
        split=start.split,
        labels=start.labels,
        started_at_s=start.started_at_s,
        ended_at_s=end.ended_at_s if end else None,
        steps=row.steps,
        reward=row.reward,
        outcome=end.outcome if end else None,
        stop_reason=end.stop_reason if end else None,
        failure=end.failure if end else None,
    )


def images_of_step(step: Step) -> list[Image]:
    """Every picture a step's record names."""
    request = step.decision.request
    return [step.observation.screenshot, *(request.images if request else ())]


def said(step: Step) -> str | None:
    """What a step is found by."""
    parts = [part for part in (step.decision.thought, step.decision.summary) if part]
    return column_text("\n".join(parts)) or None


def _steps_of(trajectory_id: str) -> ScalarSelect[int]:
    steps = tables.steps
    return select(func.count()).where(steps.c.trajectory_id == trajectory_id).scalar_subquery()


def _same(found: str | None, text: str | object, what: str) -> None:
    if found != text:
        raise ConflictingRecord(f"{what} was written before with other content; nothing was changed")


def _unknown(trajectory_id: str) -> UnknownTrajectory:
    return UnknownTrajectory(f"no trajectory {trajectory_id!r} in the store")
