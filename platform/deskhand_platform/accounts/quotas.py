"""How much of the platform each owner may have at once: tasks, sandboxes, stored bytes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables as flywheel
from deskhand_flywheel.database import Database
from deskhand_platform.accounts.access import Role
from deskhand_platform.errors import InvalidField, NotFound, QuotaExceeded
from deskhand_platform.settings import QuotaSettings
from deskhand_platform.states import WorkState
from deskhand_platform.tables import recordings, tasks, users

LOOK_BACK_S = 600.0
"""Tasks that ended within this time say how soon there is room again."""
UNKNOWN_S, LONGEST_S = 60.0, 3600.0
"""When to try again where none ended; and the longest that is ever said."""
BYTES_KNOWN_S = 10.0
"""How old the sum of somebody's bytes may be: it is made of many rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """What somebody may have at once; None: any number."""

    tasks: int | None
    sandboxes: int | None
    bytes: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What somebody has, and may have."""

    owner: str
    tasks: int
    """Queued and running."""
    sandboxes: int
    """Running tasks', one each, and those leased."""
    bytes: int
    limits: Quota
    set_here: Quota
    """What their account says; None: what the settings say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What is left to somebody, at the beginning of a transaction."""

    owner: str
    limits: Quota
    tasks: int
    """Queued and running; 0 where their number does not count."""
    bytes: int
    """Stored; 0 where it does not count."""


class Quotas:
    """Everybody's limits, and what they have."""

    def __init__(self, database: Database, defaults: QuotaSettings) -> None:
        self._database = database
        self._defaults = defaults
        self._bytes: dict[str, tuple[float, int]] = {}

    async def limits(self, owner: str) -> Quota:
        """What they may have."""
        async with self._database.read() as connection:
            return (await self._found(connection, owner))[0]

    async def set(self, owner: str, quota: Quota) -> None:
        """Give somebody limits of their own; None: what the settings say.

        Raises:
            NotFound: nobody has the name.
            InvalidField: a limit below 0.
        """
        values = {"max_tasks": quota.tasks, "max_sandboxes": quota.sandboxes, "max_bytes": quota.bytes}
        for name, value in values.items():
            if value is not None and value < 0:
                raise InvalidField(name.removeprefix("max_"), "give 0 or more, or null for the default")
        async with self._database.write() as connection:
            changed = await connection.execute(sa.update(users).where(users.c.name == owner).values(values))
        if not changed.rowcount:
            raise NotFound("user", owner)

    async def usage(self, owner: str, held: int = 0) -> Usage:
        """What somebody has.

        Args:
            held: sandboxes they have leased for themselves; those of their running tasks are counted here.
        """
        async with self._database.read() as connection:
            limits, set_here = await self._found(connection, owner)
            queued = await connection.scalar(_count(owner, WorkState.QUEUED, WorkState.RUNNING))
            running = await connection.scalar(_count(owner, WorkState.RUNNING))
            stored = await connection.scalar(_stored(owner))
        return Usage(
            owner=owner,
            tasks=queued or 0,
            sandboxes=held + (running or 0),
            bytes=stored or 0,
            limits=limits,
            set_here=set_here,
        )

    async def check_tasks(self, connection: AsyncConnection, owner: str, asked: int) -> None:
        """Refuse tasks beyond what their owner may have queued and running, or stored; `room` for one time.

        Args:
            connection: of the transaction that adds them: two at once do not get past it together.
            asked: how many are about to be added.

        Raises:
            QuotaExceeded: with the numbers, and when there may be room.
        """
        await check_room(connection, await self.room(connection, owner), asked)

    async def room(self, connection: AsyncConnection, owner: str) -> Room:
        """What somebody has and may have, as a transaction finds it that adds tasks of theirs."""
        limits = (await self._found(connection, owner))[0]
        held = 0
        if limits.tasks is not None:
            held = await connection.scalar(_count(owner, WorkState.QUEUED, WorkState.RUNNING)) or 0
        stored = 0 if limits.bytes is None else await self._stored_of(connection, owner)
        return Room(owner=owner, limits=limits, tasks=held, bytes=stored)

    async def check_sandboxes(self, owner: str, held: int, asked: int = 1) -> None:
        """Refuse sandboxes beyond what somebody may hold.

        Args:
            held: sandboxes they have leased for themselves; those of their running tasks are counted here.

        Raises:
            QuotaExceeded: with the numbers.
        """
        async with self._database.read() as connection:
            limit = (await self._found(connection, owner))[0].sandboxes
            if limit is None:
                return
            used = held + (await connection.scalar(_count(owner, WorkState.RUNNING)) or 0)
        if used + asked > limit:
            raise QuotaExceeded(
                f"{owner} has {used} of {limit} sandboxes; {asked} more are too many",
                used=used,
                limit=limit,
                asked=asked,
                retry_s=UNKNOWN_S,
            )

    def at_their_limit(self, held: Mapping[str, int]) -> sa.Select[str]:
        """Owners whose running tasks take all the sandboxes they may have.

        Args:
            held: how many owners have leased for themselves.
        """
        busy, default = tasks.alias("busy"), self._defaults.sandboxes
        for_most = (
            users.c.max_sandboxes if default is None else sa.func.coalesce(users.c.max_sandboxes, default)
        )
        limit = sa.case((users.c.role == Role.ADMIN, users.c.max_sandboxes), else_=for_most)
        running = sa.select(sa.func.count()).where(
            busy.c.owner == users.c.name, busy.c.state == WorkState.RUNNING
        )
        leased = sa.case(*((users.c.name == name, count) for name, count in held.items()), else_=0)
        used = running.correlate(users).scalar_subquery() + (leased if held else 0)
        return sa.select(users.c.name).where(used >= limit)

    async def _found(self, connection: AsyncConnection, owner: str) -> tuple[Quota, Quota]:
        row = (await connection.execute(sa.select(users).where(users.c.name == owner))).mappings().first()
        set_here = Quota(
            tasks=row["max_tasks"] if row else None,
            sandboxes=row["max_sandboxes"] if row else None,
            bytes=row["max_bytes"] if row else None,
        )
        boundless = row is not None and row["role"] == Role.ADMIN

        def limit(own: int | None, default: int | None) -> int | None:
            return own if own is not None or boundless else default

        return Quota(
            tasks=limit(set_here.tasks, self._defaults.tasks),
            sandboxes=limit(set_here.sandboxes, self._defaults.sandboxes),
            bytes=limit(set_here.bytes, self._defaults.bytes),
        ), set_here

    async def _stored_of(self, connection: AsyncConnection, owner: str) -> int:
        at, known = self._bytes.get(owner, (0.0, 0))
        if time.monotonic() - at > BYTES_KNOWN_S or not at:
            known = await connection.scalar(_stored(owner)) or 0
            self._bytes[owner] = time.monotonic(), known
        return known


async def check_room(connection: AsyncConnection, room: Room, asked: int, others: int = 0) -> None:
    """Refuse tasks for which there is no room.

    Args:
        others: how many others of the same owner the transaction adds before.

    Raises:
        QuotaExceeded: with the numbers, and when there may be room.
    """
    owner, limits = room.owner, room.limits
    used = room.tasks + others
    if limits.tasks is not None and used + asked > limits.tasks:
        raise QuotaExceeded(
            f"{owner} may have {limits.tasks} tasks queued and running; with these there were {used + asked}",
            used=used,
            limit=limits.tasks,
            asked=asked,
            retry_s=await _room_in(connection, owner, used + asked - limits.tasks),
        )
    if limits.bytes is not None and room.bytes >= limits.bytes:
        raise QuotaExceeded(
            f"{owner}'s episodes take {room.bytes:,} bytes of {limits.bytes:,}; "
            "ask for some to be deleted, or for more",
            used=room.bytes,
            limit=limits.bytes,
            asked=asked,
            retry_s=LONGEST_S,
        )


async def note_recorded(database: Database, trajectory_id: str, owner: str, size: int) -> None:
    """Add bytes that were stored of somebody's episode."""
    async with database.write() as connection:
        mine = recordings.c.trajectory_id == trajectory_id
        more = sa.update(recordings).where(mine).values(bytes=recordings.c.bytes + size)
        if not (await connection.execute(more)).rowcount:
            row = {"trajectory_id": trajectory_id, "owner": owner, "bytes": size}
            await connection.execute(recordings.insert().values(row))


def _count(owner: str, *states: WorkState) -> sa.Select[int]:
    return (
        sa.select(sa.func.count()).select_from(tasks).where(tasks.c.owner == owner, tasks.c.state.in_(states))
    )


def _stored(owner: str) -> sa.Select[int]:
    """Of the episodes that are still there."""
    kept = flywheel.trajectories
    joined = recordings.join(kept, kept.c.id == recordings.c.trajectory_id)
    return sa.select(sa.func.sum(recordings.c.bytes)).select_from(joined).where(recordings.c.owner == owner)


async def _room_in(connection: AsyncConnection, owner: str, wanted: int) -> float:
    """Seconds until so many more have ended, as fast as they did of late."""
    now = time.time()
    recent = sa.select(sa.func.count()).select_from(tasks)
    ended = await connection.scalar(
        recent.where(tasks.c.owner == owner, tasks.c.ended_at_s > now - LOOK_BACK_S)
    )
    return min(LONGEST_S, max(1.0, wanted * LOOK_BACK_S / ended)) if ended else UNKNOWN_S
