"""What a whole episode's steps earned and were expected to earn, without reading the steps themselves."""

from __future__ import annotations

import typing
from dataclasses import dataclass

from sqlalchemy import JSON, Float, func, select, type_coerce

from deskhand_flywheel import tables
from deskhand_flywheel.parts import StorePart, json_column


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCurves:
    """One figure of every step, in order."""

    rewards: tuple[float, ...]
    values: tuple[float | None, ...]
    """V(s) by the critic; None where it was not asked."""


class Curves(StorePart):
    """Reads figures of steps."""

    async def step_curves(self, trajectory_id: str) -> StepCurves:
        """Of one trajectory; empty where there is none."""
        table = tables.steps
        text = table.c.step
        # neither database knows these as JSON, and one word more in a text that is not read does no harm
        for word in ("NaN", "-Infinity", "Infinity"):
            text = func.replace(text, word, "null")
        record = json_column(self.database.is_sqlite, type_coerce(text, JSON))
        value = record[("record", "decision", "completion", "value")].as_float()
        query = (
            select(table.c.reward, type_coerce(value, Float))
            .where(table.c.trajectory_id == trajectory_id)
            .order_by(table.c.step_index)
        )
        async with self.database.read() as connection:
            rows = (await connection.execute(query)).all()
        return StepCurves(
            rewards=tuple(row[0] for row in rows),
            values=tuple(typing.cast("float | None", row[1]) for row in rows),
        )
