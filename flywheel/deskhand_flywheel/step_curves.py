"""What a whole episode's steps earned and were expected to earn, without reading the steps themselves."""

from __future__ import annotations

import typing
from dataclasses import dataclass

from sqlalchemy import JSON, Float, cast, func, select, type_coerce

from deskhand_flywheel import tables
from deskhand_flywheel.parts import StorePart


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
        # PostgreSQL refuses a whole record for an escaped NUL or half a surrogate pair in any of its texts,
        # and none is read here. Of \\u, a backslash before a u, comes \/u, which is JSON as well
        unescaped = cast(func.replace(text, r"\u", "/u"), JSON)
        record = type_coerce(text, JSON) if self.database.is_sqlite else unescaped
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
