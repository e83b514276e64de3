"""One platform per database: a row says who works it, and is renewed while they live.

A platform that was killed leaves its row. The next one goes on at once where it serves the same home folder,
whose lock it holds by then, or where no such process is left on this machine; elsewhere once nothing has been
heard for `STALE_S`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.ids import new_id
from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import DatabaseInUse
from deskhand_platform.tables import platforms
from deskhand_sandbox.manager import processes

BEAT_S = 5.0
STALE_S = 60.0
"""Nothing heard for so long: it is gone."""
ID_FILE = "platform.id"
"""Tells a home folder from every other, whatever its path."""
_ROW = 1
_CLAIMING = 0x6465736B68
"""PostgreSQL's advisory lock: two that start at once claim one after the other."""


@asynccontextmanager
async def hold(database: Database, home: Path, *, take_over: bool = False) -> AsyncGenerator[None]:
    """Work the database for the length of the block.

    Args:
        home: of this platform, whose lock it holds.
        take_over: whoever works it now stops within `BEAT_S`.

    Raises:
        DatabaseInUse: another platform works it; or has taken it over meanwhile, which ends the block.
        StoreError: the database cannot be read or written.
    """
    own = _own_row(home)
    await _claim(database, own, take_over)
    block, taken = asyncio.current_task(), list[DatabaseInUse]()

    async def beat() -> None:
        while not taken:
            await asyncio.sleep(BEAT_S)
            async with log_and_continue(
                "the database cannot be told that this platform works it", FlywheelError
            ):
                taken.extend(await _renewed(database, own["holder"]))
        assert block is not None
        block.cancel()

    beating = asyncio.create_task(beat())
    try:
        yield
    except asyncio.CancelledError:
        if not taken or block is None or block.uncancel():
            raise
        raise taken[0] from None
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        with suppress(FlywheelError):
            async with database.write() as connection:
                await connection.execute(sa.delete(platforms).where(platforms.c.holder == own["holder"]))


async def _claim(database: Database, own: Mapping[str, Any], take_over: bool) -> None:
    async with database.write() as connection:
        if not database.is_sqlite:
            await connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_CLAIMING})"))
        now_s = await _now(database, connection)
        other = (await connection.execute(sa.select(platforms))).mappings().first()
        if other is not None and not take_over and not _gone(other, own, now_s):
            raise DatabaseInUse(
                f"{_named(other, now_s)} works this database; stop it, "
                "give this one another DESKHAND_DATABASE, or take it over (--take-over)"
            )
        await connection.execute(sa.delete(platforms))
        row = {**own, "id": _ROW, "since_s": now_s, "heard_at_s": now_s}
        await connection.execute(sa.insert(platforms), row)


async def _renewed(database: Database, holder: str) -> list[DatabaseInUse]:
    """Nothing, or that somebody else works it."""
    async with database.write() as connection:
        now_s = await _now(database, connection)
        own = sa.update(platforms).where(platforms.c.holder == holder).values(heard_at_s=now_s)
        if (await connection.execute(own)).rowcount:
            return []
        other = (await connection.execute(sa.select(platforms))).mappings().first()
        who = "somebody" if other is None else _named(other, now_s)
        return [DatabaseInUse(f"{who} has taken the database over")]


async def _now(database: Database, connection: AsyncConnection) -> float:
    """Unix time, s, by the database's clock: those who share it may be on machines that differ."""
    if database.is_sqlite:
        return time.time()
    return float(await connection.scalar(sa.text("SELECT extract(epoch FROM clock_timestamp())")) or 0)


def _gone(other: Mapping[Any, Any], own: Mapping[str, Any], now_s: float) -> bool:
    if other["home"] == own["home"]:
        return True
    if own["machine"] is not None and other["machine"] == own["machine"]:
        return _began(other["pid"]) != other["pid_began"]
    return now_s - other["heard_at_s"] > STALE_S


def _named(other: Mapping[Any, Any], now_s: float) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(other["since_s"]))
    heard = f"last heard of {max(0.0, now_s - other['heard_at_s']):.0f} s ago"
    return f"another platform (process {other['pid']} on {other['host']}, since {since}, {heard})"


def _own_row(home: Path) -> dict[str, Any]:
    pid = os.getpid()
    return {
        "holder": new_id(),
        "home": f"{_id_of(home)}:{home.resolve()}",
        "host": socket.gethostname(),
        "machine": _machine(),
        "pid": pid,
        "pid_began": _began(pid),
    }


def _id_of(home: Path) -> str:
    file = home / ID_FILE
    with suppress(FileNotFoundError):
        return file.read_text()
    file.write_text(new_id())
    return file.read_text()


def _machine() -> str | None:
    try:
        return f"{processes.boot_id()}:{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def _began(pid: int) -> int | None:
    """When a process began, in ticks since its machine did; None: there is none, or it is dead already."""
    found = processes.find(pid)
    return None if found is None else found.started
