"""The store's own rules of what a person should look at: those kept last; each change stays."""

from __future__ import annotations

import json
import time

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.parts import StorePart
from deskhand_flywheel.review_rules import read_review_rules, review_values
from deskhand_flywheel.review_types import ReviewRules, RulesInForce


class KeptReviewRules(StorePart):
    """Rules, kept and in force."""

    async def review_rules(self) -> RulesInForce:
        """The rules kept last, or the flywheel's own.

        Raises:
            InvalidReviewRules: a newer version kept them.
        """
        table = tables.review_rules
        async with self.database.read() as connection:
            row = (await connection.execute(select(table).order_by(table.c.id.desc()).limit(1))).first()
        if row is None:
            return RulesInForce(rules=read_review_rules({}), set_by=None, set_at_s=None)
        rules = read_review_rules(json.loads(row.rules))
        return RulesInForce(rules=rules, set_by=row.set_by, set_at_s=row.set_at_s)

    async def keep_review_rules(self, rules: ReviewRules, by: str) -> RulesInForce:
        """Have these in force from now on, whole; what others found stays as their entries say.

        Args:
            by: who says so.

        Raises:
            StorageFull, StoreUnavailable, StoreClosed: they are as they were.
        """
        kept = RulesInForce(rules=rules, set_by=by, set_at_s=time.time())
        row = {"rules": json.dumps(review_values(rules)), "set_by": by, "set_at_s": kept.set_at_s}

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(insert(tables.review_rules), row)

        await self._writer.submit(write)
        return kept
