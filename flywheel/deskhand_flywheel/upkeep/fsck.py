"""The integrity check: rows against blobs and back, and what can be mended without losing anything.

Any process may write meanwhile: rows are read before blobs are listed, and a picture is in place before the
row that cites it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlalchemy import select

from deskhand_flywheel import tables
from deskhand_flywheel.blob_damage import Damage
from deskhand_flywheel.blobs import BlobStore, StoredBlob
from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import MissingBlob
from deskhand_flywheel.store import Store
from deskhand_flywheel.upkeep import repairs
from deskhand_flywheel.upkeep.citations import cited_blobs, digests_in
from deskhand_flywheel.upkeep.findings import Finding, FindingKind, Progress, Report, quiet
from deskhand_flywheel.upkeep.rows import RowsRead, read_rows

SETTLE_S = 3600.0
"""A blob younger than this may still get its row or its end, a trajectory silent for less its end."""
_AT_ONCE = 4
_SAID = {Damage.CUT_SHORT: "end too early", Damage.CHANGED: "have another digest"}
_KINDS = {Damage.CUT_SHORT: FindingKind.TRUNCATED_BLOB, Damage.CHANGED: FindingKind.CHANGED_BLOB}


async def fsck(
    store: Store,
    *,
    repair: bool = False,
    spare: BlobStore | None = None,
    settle_s: float = SETTLE_S,
    progress: Progress = quiet,
) -> Report:
    """Check every row and the bytes of every blob.

    A repair drops nothing that is whole: it closes trajectories whose process died, puts misplaced steps
    where they say they belong, removes a second row that holds exactly the same step, moves damaged blobs
    aside, and fetches missing ones from `spare`. Orphaned blobs are left for the garbage collection.

    Args:
        spare: another blob store, such as a backup, to take lost blobs from.
        settle_s: see `SETTLE_S`.

    Raises:
        StoreUnavailable, CorruptStore: the database or the blob store cannot be read at all.
    """
    read = await read_rows(store.database, settle_s=settle_s, progress=progress)
    stored = await _read_blobs(store, read, settle_s, progress)
    findings = [*read.findings, *stored.findings]
    if repair:
        findings = await repairs.of_rows(store, read, findings)
        findings = await repairs.of_blobs(store, read.cited, findings, spare)
    findings = await _with_citers(store.database, findings)
    return Report(
        trajectories=read.trajectories,
        steps=read.steps,
        policies=read.policies,
        blobs=stored.blobs,
        bytes=stored.bytes,
        findings=tuple(findings),
    )


@dataclass(kw_only=True, slots=True)
class _Stored:
    blobs: int = 0
    bytes: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


async def _read_blobs(store: Store, read: RowsRead, settle_s: float, progress: Progress) -> _Stored:
    listed = [blob async for batch in store.blobs.stored() for blob in batch]
    staged = await store.blobs.staged(settle_s)
    found = _Stored(blobs=len(listed), bytes=sum(blob.size for blob in (*listed, *staged)))
    # after the listing: what was stored and cited between the two is not an orphan
    maybe_cited = await cited_blobs(store.database)
    old = time.time() - settle_s
    for begin in range(0, len(listed), _AT_ONCE):
        few = listed[begin : begin + _AT_ONCE]
        for blob, damage in zip(few, await _damages(store.blobs, few), strict=True):
            cited = bytes.fromhex(blob.digest) in maybe_cited
            if damage is not None:
                detail = f"its {blob.size} bytes {_SAID[damage]}{'' if cited else '; nothing cites it'}"
                found.findings.append(Finding(kind=_KINDS[damage], subject=blob.digest, detail=detail))
            elif not cited and blob.stored_at_s < old:
                detail = f"nothing cites its {blob.size} bytes"
                kind = FindingKind.ORPHANED_BLOB
                found.findings.append(Finding(kind=kind, subject=blob.digest, detail=detail))
        progress("blobs", min(begin + _AT_ONCE, len(listed)), len(listed))
    found.findings += [
        Finding(
            kind=FindingKind.ORPHANED_BLOB,
            subject=each.digest,
            detail=f"a write that did not end left its {each.size} bytes",
        )
        for each in staged
    ]
    there = {bytes.fromhex(blob.digest) for blob in listed}
    found.findings += [
        Finding(kind=FindingKind.MISSING_BLOB, subject=digest, detail="it is not stored")
        for digest in sorted(each.hex() for each in read.cited - there if each in maybe_cited)
    ]
    return found


async def _damages(blobs: BlobStore, few: Iterable[StoredBlob]) -> list[Damage | None]:
    return await asyncio.gather(*(_damage(blobs, blob.digest) for blob in few))


async def _damage(blobs: BlobStore, digest: str) -> Damage | None:
    try:
        return await blobs.damage(digest)
    except MissingBlob:
        # collected since the listing
        return None


async def _with_citers(database: Database, findings: list[Finding]) -> list[Finding]:
    """Lost blobs' findings with what cites them."""
    lost = {finding.subject for finding in findings if _is_lost(finding)}
    if not lost:
        return findings
    by = await _citers(database, lost)
    return [
        replace(finding, detail=f"{finding.detail}; cited by {by[finding.subject]}")
        if _is_lost(finding) and finding.subject in by
        else finding
        for finding in findings
    ]


def _is_lost(finding: Finding) -> bool:
    return not finding.mended and finding.kind in (FindingKind.MISSING_BLOB, *_KINDS.values())


async def _citers(database: Database, digests: set[str]) -> dict[str, str]:
    first: dict[str, str] = {}
    more: Counter[str] = Counter()
    steps, heads, policies = tables.steps, tables.trajectories, tables.policies
    queries = (
        ("step {1} of trajectory {0}", select(steps.c.step, steps.c.trajectory_id, steps.c.step_index)),
        ("the end of trajectory {0}", select(heads.c.end, heads.c.id).where(heads.c.end.is_not(None))),
        ("policy {0}", select(policies.c.manifest, policies.c.id)),
    )
    async with database.read() as connection:
        for said, query in queries:
            async for row in await connection.stream(query):
                for digest in digests_in(row[0]) & digests:
                    if digest in first:
                        more[digest] += 1
                    first.setdefault(digest, said.format(*row[1:]))
    return {name: text + (f" and {more[name]} more" if more[name] else "") for name, text in first.items()}
