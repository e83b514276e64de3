"""The audit log: who did what, when, on what, from where, and what came of it. Rows are never changed."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.writer import GroupWriter
from deskhand_platform.tables import audit

log = logging.getLogger(__name__)
MAX_TARGET, MAX_DETAIL = 400, 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that somebody did, or tried."""

    who: str
    action: str
    """A route ("PATCH /v1/users/{name}") or a command ("deskhand users role")."""
    target: str
    """The address, or the name that it was about."""
    source: str
    """A network address, or "command line"."""
    status: int
    """As HTTP has it: 200 to 399 was done, above was refused."""
    detail: str = ""
    at_s: float = field(default_factory=time.time)
    id: int = 0
    """Given by the table, ascending."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFilter:
    """Which entries; None: whichever."""

    who: str | None = None
    action: str | None = None
    """A part of it."""
    target: str | None = None
    """A part of it."""
    since_s: float | None = None
    until_s: float | None = None
    refused: bool | None = None


class Audit:
    """The log. Entries that come at the same time share a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = GroupWriter(database)

    async def write(self, entry: Entry) -> None:
        """Append an entry; returns when it is there. What cannot be written is logged: it is done already."""
        row = _row(entry)
        try:
            await self._writer.submit_to(_append, row)
        except FlywheelError:
            log.exception("the audit log cannot be written; lost: %s", row)

    async def list(
        self, chosen: EntryFilter, *, before: int | None = None, limit: int = 50
    ) -> tuple[Entry, ...]:
        """Entries, newest first; `before` is the id of the last one seen."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(audit.c.id < before)
        if chosen.who is not None:
            query = query.where(audit.c.who == chosen.who)
        for column, part in ((audit.c.action, chosen.action), (audit.c.target, chosen.target)):
            if part is not None:
                query = query.where(column.contains(part, autoescape=True))
        if chosen.since_s is not None:
            query = query.where(audit.c.at_s >= chosen.since_s)
        if chosen.until_s is not None:
            query = query.where(audit.c.at_s < chosen.until_s)
        if chosen.refused is not None:
            query = query.where(audit.c.status >= 400 if chosen.refused else audit.c.status < 400)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(Entry(**row) for row in rows)

    async def refusals(
        self, action: str, status: int, *, since_s: float, source: str, target: str
    ) -> tuple[int, int]:
        """How often an action was refused so since then: to anybody at the source, and about the target.

        A source is a whole /64 network where it is of IPv6: one machine has all of its addresses.
        """
        recent = sa.and_(audit.c.action == action, audit.c.at_s >= since_s, audit.c.status == status)
        count = sa.func.count()
        about = sa.select(count).where(recent, audit.c.target == _plain(target, MAX_TARGET))
        network = _network_of(source)
        near = audit.c.source == source if network is None else audit.c.source.contains(":")
        there = sa.select(audit.c.source, count).where(recent, near).group_by(audit.c.source)
        async with self._database.read() as connection:
            by_target = await connection.scalar(about) or 0
            counts = (await connection.execute(there)).all()
        return sum(times for place, times in counts if _network_of(place) == network), by_target


def _network_of(source: str) -> ipaddress.IPv6Network | None:
    """The /64 network of an IPv6 address; None: it is none, or carries one of IPv4."""
    try:
        address = ipaddress.IPv6Address(source.partition("%")[0])
    except ValueError:
        return None
    return None if address.ipv4_mapped else ipaddress.IPv6Network((address, 64), strict=False)


async def _append(connection: AsyncConnection, rows: Sequence[dict[str, object]]) -> None:
    await connection.execute(audit.insert(), list(rows))


def _row(entry: Entry) -> dict[str, object]:
    row = asdict(entry)
    del row["id"]
    row["target"], row["detail"] = _plain(entry.target, MAX_TARGET), _plain(entry.detail, MAX_DETAIL)
    return row


def _plain(text: str, limit: int) -> str:
    """Text that any database takes: no half characters, no zero ones."""
    return text.encode(errors="replace").decode().replace("\0", "�")[:limit]
