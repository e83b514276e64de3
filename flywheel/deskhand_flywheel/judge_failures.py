"""What judges came to no verdict on, and why: nothing is lost, and it can be counted."""

from __future__ import annotations

import time

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.errors import UnknownTrajectory
from deskhand_flywheel.parts import StorePart, column_text
from deskhand_flywheel.types import JudgeFailure, JudgeTrouble

_WHOLE = -1
"""Stands for the index of no step."""


class JudgeFailures(StorePart):
    """Failures of judges, one for each case, with how often it was tried."""

    async def add_judge_failure(self, failure: JudgeFailure) -> None:
        """Keep a failure; the same case's earlier one is replaced, and its attempts added.

        Raises:
            UnknownTrajectory: it is about a trajectory that is not in the store.
            StorageFull, StoreUnavailable, StoreClosed: it was not kept.
        """
        table = tables.judge_failures
        keys = {
            "trajectory_id": failure.trajectory_id,
            "step_index": _WHOLE if failure.step_index is None else failure.step_index,
            "scorer": failure.scorer,
        }
        values = {
            "trouble": failure.trouble.value,
            "detail": column_text(failure.detail)[:1000],
            "failed_at_s": time.time(),
        }
        of_this = [table.c[name] == value for name, value in keys.items()]

        async def write(connection: AsyncConnection) -> None:
            again = update(table).where(*of_this)
            added = table.c.attempts + failure.attempts
            if (await connection.execute(again.values(**values, attempts=added))).rowcount == 0:
                row = {**keys, **values, "attempts": failure.attempts}
                await connection.execute(table.insert().values(row))

        try:
            await self._writer.submit(write)
        except IntegrityError as error:
            raise UnknownTrajectory(f"no trajectory {failure.trajectory_id!r} in the store") from error

    async def drop_judge_failure(self, scorer: str, trajectory_id: str, step_index: int | None) -> None:
        """Forget a failure: there is a verdict now."""
        table = tables.judge_failures
        of_this: list[ColumnElement[bool]] = [
            table.c.trajectory_id == trajectory_id,
            table.c.step_index == (_WHOLE if step_index is None else step_index),
            table.c.scorer == scorer,
        ]

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(delete(table).where(*of_this))

        await self._writer.submit(write)

    async def judge_failures(self, scorer: str) -> tuple[JudgeFailure, ...]:
        """All of one judge's, by trajectory and step."""
        table = tables.judge_failures
        query = select(table).where(table.c.scorer == scorer)
        async with self.database.read() as connection:
            rows = (await connection.execute(query.order_by(table.c.trajectory_id, table.c.step_index))).all()
        return tuple(
            JudgeFailure(
                trajectory_id=row.trajectory_id,
                step_index=None if row.step_index == _WHOLE else row.step_index,
                scorer=row.scorer,
                trouble=JudgeTrouble(row.trouble),
                detail=row.detail,
                attempts=row.attempts,
            )
            for row in rows
        )
