"""Who holds the controls of a running episode: a person instead of its policy, until they hand them back.

A row of `takeovers` is how the API tells the episode worker. It has to be renewed: whoever closes the page
lets go, and the policy goes on.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError

from deskhand_agent.reviewing import PersonsAnswer
from deskhand_agent.types import Context
from deskhand_flywheel.database import Database
from deskhand_flywheel.records import dumps, loads
from deskhand_platform.errors import WrongState
from deskhand_platform.tables import takeovers

HOLD_S = 20.0
"""Controls that nobody renews are let go after so long."""
LONGEST_S = 3600.0
"""One turn may wait for a person so long at most."""
REACH_S = 10.0
"""What a person did is waited for so long before their next action is refused, or their hands are off."""
POLL_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Takeover:
    """Controls in somebody's hands."""

    trajectory_id: str
    by: str
    since_s: float
    pending: bool
    """What they last did has not reached the sandbox yet."""


class Takeovers:
    """Implements the agent's `Controls`, and the person's side of them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def next(self, context: Context) -> PersonsAnswer | None:
        """What the person at the controls does next; None once nobody holds them."""
        while (row := await self._held(context.trajectory_id)) is not None:
            if row.answer is not None and await self._taken(row):
                return loads(PersonsAnswer, row.answer)
            await asyncio.sleep(POLL_S)
        return None

    async def get(self, trajectory_id: str) -> Takeover | None:
        """Who holds the controls; None: the policy."""
        row = await self._held(trajectory_id)
        return None if row is None else _read(row)

    async def hold(self, trajectory_id: str, by: str) -> Takeover:
        """Take the controls, or keep hold of them.

        Raises:
            WrongState: somebody else has them.
        """
        now = time.time()
        of_this = takeovers.c.trajectory_id == trajectory_id
        late = takeovers.c.held_until_s <= now
        async with self._database.write() as connection:
            await connection.execute(sa.delete(takeovers).where(late))
            kept = await connection.execute(
                sa.update(takeovers).where(of_this, takeovers.c.by == by).values(held_until_s=now + HOLD_S)
            )
            if not kept.rowcount:
                row = {"trajectory_id": trajectory_id, "by": by, "since_s": now}
                try:
                    async with connection.begin_nested():
                        await connection.execute(
                            sa.insert(takeovers).values(**row, held_until_s=now + HOLD_S)
                        )
                except IntegrityError:
                    pass
        found = await self.get(trajectory_id)
        if found is None or found.by != by:
            raise _not_theirs(found, "wait until they are handed back, and take them")
        return found

    async def act(self, trajectory_id: str, answer: PersonsAnswer) -> Takeover:
        """Hand an action over to the episode, after what they did before; it is carried out in its turn.

        Raises:
            WrongState: they do not hold the controls, or what they did before is not carried out yet after
                `REACH_S`.
        """
        await self._reached(trajectory_id, answer.by)
        mine = [
            takeovers.c.trajectory_id == trajectory_id,
            takeovers.c.by == answer.by,
            takeovers.c.held_until_s > time.time(),
        ]
        async with self._database.write() as connection:
            done = await connection.execute(
                sa.update(takeovers)
                .where(*mine, takeovers.c.answer.is_(None))
                .values(answer=dumps(answer), held_until_s=time.time() + HOLD_S)
            )
        found = await self.get(trajectory_id)
        if not done.rowcount:
            if found is not None and found.by == answer.by:
                raise WrongState("what you did before has not reached the sandbox yet", state="pending")
            raise _not_theirs(found, "take the controls first")
        assert found is None or found.by == answer.by
        return found or Takeover(trajectory_id=trajectory_id, by=answer.by, since_s=time.time(), pending=True)

    async def let_go(self, trajectory_id: str, by: str) -> None:
        """Hand the controls back once the episode has what they did last; its turn may still be under way.

        Raises:
            WrongState: they were not theirs.
        """
        await self._reached(trajectory_id, by)
        mine = [takeovers.c.trajectory_id == trajectory_id, takeovers.c.by == by]
        async with self._database.write() as connection:
            done = await connection.execute(sa.delete(takeovers).where(*mine))
        if not done.rowcount:
            raise _not_theirs(await self.get(trajectory_id), "there is nothing to hand back")

    async def _reached(self, trajectory_id: str, by: str) -> None:
        """Until what they did has reached the sandbox, `REACH_S` at most."""
        until = time.monotonic() + REACH_S
        while (row := await self._held(trajectory_id)) is not None and row.by == by:
            if row.answer is None or time.monotonic() >= until:
                return
            await asyncio.sleep(POLL_S)

    async def _held(self, trajectory_id: str) -> Row[Any] | None:
        query = sa.select(takeovers).where(
            takeovers.c.trajectory_id == trajectory_id, takeovers.c.held_until_s > time.time()
        )
        async with self._database.read() as connection:
            return (await connection.execute(query)).first()

    async def _taken(self, row: Row[Any]) -> bool:
        """Take the action out; False where it was withdrawn with the controls meanwhile."""
        this = [takeovers.c.trajectory_id == row.trajectory_id, takeovers.c.answer == row.answer]
        async with self._database.write() as connection:
            done = await connection.execute(sa.update(takeovers).where(*this).values(answer=None))
        return bool(done.rowcount)


def _not_theirs(held: Takeover | None, advice: str) -> WrongState:
    """Why somebody cannot steer: who has the controls."""
    if held is None:
        return WrongState(f"nobody has the controls: {advice}", state="free")
    return WrongState(f"{held.by} has the controls: {advice}", state="held")


def _read(row: Row[Any]) -> Takeover:
    return Takeover(
        trajectory_id=row.trajectory_id, by=row.by, since_s=row.since_s, pending=row.answer is not None
    )
