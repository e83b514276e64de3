"""The rows of trajectories, steps and policies: readable, complete, in order."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Row, func, select, text

from deskhand_agent.types import Step, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import MalformedRecord, UnknownSchemaVersion
from deskhand_flywheel.recording import images_of_step, steps_of
from deskhand_flywheel.records import loads
from deskhand_flywheel.upkeep.findings import Finding, FindingKind, Progress

T = TypeVar("T")
_PAGE = 20
"""Trajectories at once; their steps are streamed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRow:
    """Where a step stands, and where it says it stands."""

    trajectory_id: str
    row: int
    says: int | None
    """Index in its record; None when that cannot be read."""


@dataclass(kw_only=True, slots=True)
class RowsRead:
    """What the rows hold, as far as the check needs it."""

    cited: set[bytes] = field(default_factory=set[bytes])
    """Digests that records and policies cite."""
    trajectories: int = 0
    steps: int = 0
    policies: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    unclosed: dict[str, float] = field(default_factory=dict[str, float])
    """Trajectories whose process died, and when they last did something."""
    misplaced: list[StepRow] = field(default_factory=list[StepRow])
    duplicates: list[StepRow] = field(default_factory=list[StepRow])
    outgrown: list[str] = field(default_factory=list[str])
    """Trajectories that have more steps than they count."""


async def read_rows(database: Database, *, settle_s: float, progress: Progress) -> RowsRead:
    """Read every row once.

    Args:
        settle_s: how long after its time limit a silent trajectory may still end by itself.
    """
    read = RowsRead()
    if database.is_sqlite:
        await _ask_sqlite(database, read)
    await _trajectories(database, read, settle_s, progress)
    await _policies(database, read)
    return read


async def _ask_sqlite(database: Database, read: RowsRead) -> None:
    async with database.read() as connection:
        said = list((await connection.scalars(text("PRAGMA integrity_check"))).all())
        dangling = (await connection.execute(text("PRAGMA foreign_key_check"))).all()
    found = [f"integrity check: {line}" for line in said if line != "ok"]
    found += [f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in dangling]
    read.findings += [
        Finding(kind=FindingKind.DAMAGED_DATABASE, subject="", detail=detail) for detail in found
    ]


async def _trajectories(database: Database, read: RowsRead, settle_s: float, progress: Progress) -> None:
    table, last = tables.trajectories, ""
    async with database.read() as connection:
        total = await connection.scalar(select(func.count()).select_from(table)) or 0
    while True:
        query = select(table.c.id, table.c.started_at_s, table.c.start, table.c.end, table.c.length)
        async with database.read() as connection:
            heads = (
                await connection.execute(query.where(table.c.id > last).order_by(table.c.id).limit(_PAGE))
            ).all()
        if not heads:
            return
        steps = await _steps(database, read, [head.id for head in heads])
        for head in heads:
            if _order(read, head.id, steps[head.id].rows) and head.length != len(steps[head.id].rows):
                await _length(database, read, head.id)
            _head(read, head, steps[head.id].last_s, settle_s)
        last = heads[-1].id
        progress("trajectories", read.trajectories, max(total, read.trajectories))


@dataclass(kw_only=True, slots=True)
class _Steps:
    rows: list[StepRow] = field(default_factory=list[StepRow])
    last_s: float = 0.0


async def _steps(database: Database, read: RowsRead, ids: Sequence[str]) -> dict[str, _Steps]:
    table, found = tables.steps, {each: _Steps() for each in ids}
    query = select(table.c.trajectory_id, table.c.step_index, table.c.step)
    query = query.where(table.c.trajectory_id.in_(ids)).order_by(table.c.trajectory_id, table.c.step_index)
    async with database.read() as connection:
        async for row in await connection.stream(query):
            name, index = row.trajectory_id, row.step_index
            step = _loaded(read, Step, row.step, name, f"step {index}")
            says = None if step is None else step.index
            found[name].rows.append(StepRow(trajectory_id=name, row=index, says=says))
            read.steps += 1
            if step is not None:
                found[name].last_s = max(found[name].last_s, step.finished_at_s)
                for image in images_of_step(step):
                    _cite(read, image.digest, name)
    return found


def _order(read: RowsRead, trajectory_id: str, rows: Sequence[StepRow]) -> bool:
    """Whether each row is there once, where it says it is."""
    found = len(read.findings)
    taken = {row.row for row in rows}
    for row in rows:
        if row.says is None or row.says == row.row:
            continue
        twice = row.says in taken
        kind = FindingKind.DUPLICATE_STEP if twice else FindingKind.MISPLACED_STEP
        detail = f"the row of step {row.row} holds step {row.says}, which has {'a' if twice else 'no'} row"
        read.findings.append(Finding(kind=kind, subject=trajectory_id, detail=detail))
        (read.duplicates if twice else read.misplaced).append(row)
    says = taken | {row.says for row in rows if row.says is not None}
    read.findings += [
        Finding(kind=FindingKind.MISSING_STEP, subject=trajectory_id, detail=f"step {index} is not there")
        for index in sorted(set(range(max(taken, default=-1))) - says)
    ]
    return len(read.findings) == found


async def _length(database: Database, read: RowsRead, trajectory_id: str) -> None:
    """Compare the steps a trajectory counts with those it has, at one time: it may end or go meanwhile."""
    table = tables.trajectories
    query = select(table.c.length, steps_of(trajectory_id).label("there"))
    query = query.where(table.c.id == trajectory_id, table.c.end.is_not(None))
    async with database.read() as connection:
        row = (await connection.execute(query)).first()
    if row is None or row.length == row.there:
        return
    detail = f"it ended after {row.length} steps, and {row.there} are there"
    read.findings.append(Finding(kind=FindingKind.WRONG_LENGTH, subject=trajectory_id, detail=detail))
    if row.length is None or row.there > row.length:
        read.outgrown.append(trajectory_id)


def _head(read: RowsRead, head: Row[Any, Any, Any, Any, Any], last_s: float, settle_s: float) -> None:
    read.trajectories += 1
    start = _loaded(read, TrajectoryStart, head.start, head.id, "its start")
    if head.end is not None:
        end = _loaded(read, TrajectoryEnd, head.end, head.id, "its end")
        if end is not None and end.final_observation is not None:
            _cite(read, end.final_observation.screenshot.digest, head.id)
        return
    limit_s = start.task.limits.seconds if start else 0.0
    last_s = max(last_s, head.started_at_s)
    if last_s + limit_s + settle_s < time.time():
        read.unclosed[head.id] = last_s
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last_s))
        read.findings.append(
            Finding(
                kind=FindingKind.UNCLOSED_TRAJECTORY,
                subject=head.id,
                detail=f"it has no end, and did nothing since {when}",
            )
        )


async def _policies(database: Database, read: RowsRead) -> None:
    table = tables.policies
    async with database.read() as connection:
        rows = (await connection.execute(select(table.c.id, table.c.manifest))).all()
    for row in rows:
        read.policies += 1
        try:
            for digest in json.loads(row.manifest).values():
                _cite(read, digest, row.id)
        except (ValueError, TypeError, AttributeError) as error:
            _unreadable(read, row.id, f"its manifest: {error}")


def _loaded(read: RowsRead, kind: type[T], stored: str, trajectory_id: str, what: str) -> T | None:
    try:
        return loads(kind, stored)
    except UnknownSchemaVersion as error:
        read.findings.append(
            Finding(kind=FindingKind.UNKNOWN_SCHEMA, subject=trajectory_id, detail=f"{what}: {error}")
        )
    except MalformedRecord as error:
        _unreadable(read, trajectory_id, f"{what}: {error}")
    return None


def _cite(read: RowsRead, digest: str, by: str) -> None:
    try:
        read.cited.add(bytes.fromhex(digest))
    except ValueError:
        _unreadable(read, by, f"{digest!r:.80} is no digest")


def _unreadable(read: RowsRead, subject: str, detail: str) -> None:
    read.findings.append(Finding(kind=FindingKind.UNREADABLE_RECORD, subject=subject, detail=detail))
