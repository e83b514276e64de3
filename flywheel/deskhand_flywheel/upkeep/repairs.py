"""What `fsck --repair` does: each mends one kind of finding, and none drops what is whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import delete, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.types import Step, StopReason, TrajectoryEnd
from deskhand_flywheel import tables
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import BlobError, ConflictingRecord, MissingBlob
from deskhand_flywheel.recording import steps_of
from deskhand_flywheel.records import loads
from deskhand_flywheel.store import Store
from deskhand_flywheel.upkeep.findings import Finding, FindingKind
from deskhand_flywheel.upkeep.rows import RowsRead, StepRow

_DAMAGED = (FindingKind.TRUNCATED_BLOB, FindingKind.CHANGED_BLOB)


async def of_rows(store: Store, read: RowsRead, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with what could be mended of trajectories and steps."""
    done: dict[tuple[FindingKind, str], list[str]] = {}
    failed: set[tuple[FindingKind, str]] = set()
    for kind, rows, mend in (
        (FindingKind.MISPLACED_STEP, read.misplaced, _put_back),
        (FindingKind.DUPLICATE_STEP, read.duplicates, _drop_copy),
    ):
        for row in rows:
            async with store.database.write() as connection:
                said = await mend(connection, row)
            key = (kind, row.trajectory_id)
            if said:
                done.setdefault(key, []).append(said)
            else:
                failed.add(key)
    for trajectory_id in read.outgrown:
        async with store.database.write() as connection:
            await _count(connection, trajectory_id)
        done[FindingKind.WRONG_LENGTH, trajectory_id] = ["counts them all"]
    for trajectory_id, last_s in read.unclosed.items():
        if await _close(store, trajectory_id, last_s):
            done[FindingKind.UNCLOSED_TRAJECTORY, trajectory_id] = ["closed as cancelled"]
    return [_after(finding, done, failed) for finding in findings]


def _after(
    finding: Finding,
    done: Mapping[tuple[FindingKind, str], list[str]],
    failed: set[tuple[FindingKind, str]],
) -> Finding:
    key = (finding.kind, finding.subject)
    if key not in done:
        return finding
    return replace(finding, done="; ".join(done[key]), mended=key not in failed)


async def _count(connection: AsyncConnection, trajectory_id: str) -> None:
    table = tables.trajectories
    await connection.execute(
        update(table).where(table.c.id == trajectory_id).values(length=steps_of(trajectory_id))
    )


async def _put_back(connection: AsyncConnection, row: StepRow) -> str:
    table = tables.steps
    of_this = table.c.trajectory_id == row.trajectory_id
    scored = await _spoken_of(connection, row)
    taken = await connection.scalar(select(exists().where(of_this, table.c.step_index == row.says)))
    if taken or scored:
        return ""
    await connection.execute(
        update(table).where(of_this, table.c.step_index == row.row).values(step_index=row.says)
    )
    return f"row {row.row} is step {row.says} again"


async def _drop_copy(connection: AsyncConnection, row: StepRow) -> str:
    table = tables.steps
    of_this = table.c.trajectory_id == row.trajectory_id
    texts = (
        await connection.scalars(
            select(table.c.step).where(of_this, table.c.step_index.in_([row.row, row.says]))
        )
    ).all()
    scored = await _spoken_of(connection, row)
    if scored or len(texts) != 2 or loads(Step, texts[0]) != loads(Step, texts[1]):
        return ""
    await connection.execute(delete(table).where(of_this, table.c.step_index == row.row))
    return f"row {row.row}, a copy of step {row.says}, is removed"


async def _spoken_of(connection: AsyncConnection, row: StepRow) -> bool:
    """Somebody scored the step under that index, wrote a note on it, or found what it was worth."""
    about = [
        exists().where(table.c.trajectory_id == row.trajectory_id, table.c.step_index == row.row)
        for table in (tables.scores, tables.notes, tables.step_values)
    ]
    return bool(await connection.scalar(select(or_(*about))))


async def _close(store: Store, trajectory_id: str, last_s: float) -> bool:
    end = TrajectoryEnd(
        final_observation=None,
        outcome=None,
        stop_reason=StopReason.CANCELLED,
        failure=None,
        failure_detail="its process died; closed by the integrity check",
        ended_at_s=last_s,
    )
    try:
        await store.end(trajectory_id, end)
    except ConflictingRecord:
        # it ended by itself in the meantime
        return False
    return True


async def of_blobs(
    store: Store, cited: set[bytes], findings: Iterable[Finding], spare: BlobStore | None
) -> list[Finding]:
    """The findings, with what could be mended of blobs."""
    findings = list(findings)
    lost = [finding.subject for finding in findings if finding.kind in (*_DAMAGED, FindingKind.MISSING_BLOB)]
    await _condemn(store, lost)
    return [
        await _blob(store, finding, bytes.fromhex(finding.subject) in cited, spare)
        if finding.kind in (*_DAMAGED, FindingKind.MISSING_BLOB)
        else finding
        for finding in findings
    ]


async def _condemn(store: Store, digests: Sequence[str]) -> None:
    """Whoever remembers to have stored one of these finds out that it is not so."""
    store.blobs.forget(digests)
    if not digests:
        return
    async with store.database.write() as connection:
        rows = [{"digest": digest} for digest in digests]
        await connection.execute(store.insert_new(tables.collected_blobs), rows)


async def _blob(store: Store, finding: Finding, cited: bool, spare: BlobStore | None) -> Finding:
    done = ""
    try:
        # found some time ago: a writer may have stored it whole since, and a collection deleted it
        if await store.blobs.damage(finding.subject) is None:
            return replace(finding, done="stored whole again meanwhile", mended=True)
        await store.blobs.set_aside(finding.subject)
        done = f"moved to damaged/{finding.subject}"
    except MissingBlob:
        if finding.kind in _DAMAGED:
            done = "gone already"
    if cited and spare is not None and await _fetched(store, spare, finding.subject):
        fetched = "fetched whole from the spare blob store"
        return replace(finding, done=f"{done}; {fetched}" if done else fetched, mended=True)
    return replace(finding, done=done, mended=not cited)


async def _fetched(store: Store, spare: BlobStore, digest: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="deskhand-fsck-") as folder:
        path = Path(folder) / digest
        try:
            await spare.get_file(digest, path)
        except BlobError:
            return False
        await store.reprieve([digest])
        await store.blobs.put_file(path)
    return True
