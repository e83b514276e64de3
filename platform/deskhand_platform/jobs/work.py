"""What jobs do, each by its order: on this home by a command, or in the process of a platform's job."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.upkeep import Report, RetentionRule, collect, retention_rule
from deskhand_flywheel.upkeep import fsck as check
from deskhand_platform.api.job_models import FsckOrder, GcOrder
from deskhand_platform.errors import InvalidField
from deskhand_platform.jobs import scoring
from deskhand_platform.jobs.merging import merge
from deskhand_platform.jobs.place import Outcome, Place, Progress
from deskhand_platform.jobs.task_checks import check_tasks
from deskhand_platform.jobs.task_growing import grow_tasks
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.rounds.run_queue import ENDED
from deskhand_platform.rounds.runs import read_result


async def fsck(place: Place, order: FsckOrder, progress: Progress) -> Outcome:
    """Check every row and blob; what was found."""
    from deskhand_flywheel.blobs import BlobStore

    spare = None if order.spare is None else BlobStore(order.spare)
    async with place.store() as store:
        report = await check(
            store, repair=order.repair, spare=spare, settle_s=order.settle_hours * 3600, progress=progress
        )
    return _as_json(report)


async def gc(place: Place, order: GcOrder, progress: Progress) -> Outcome:
    """Drop what may go, or say what would.

    Raises:
        InvalidField: the rule is none.
    """
    rule = rule_of(order)
    async with place.store() as store:
        runs = unfinished_runs(place.home / "runs") | await _of_rounds(RoundBook(store.database))
        done = await collect(store, rule, apply=order.apply, runs=runs, progress=progress)
    return json.loads(json.dumps(asdict(done)))


def rule_of(order: GcOrder) -> RetentionRule:
    """
    Raises:
        InvalidField: it is no rule; says where.
    """
    if order.rule is None:
        return RetentionRule()
    try:
        return retention_rule(order.rule)
    except InvalidQuery as error:
        raise InvalidField("rule", str(error)) from error


def unfinished_runs(folder: Path) -> set[str]:
    """Ids of the runs that may go on from a checkpoint."""
    begun = (spec.parent for spec in folder.glob("*/spec.json"))
    return {each.name for each in begun if read_result(each) is None and not (each / ENDED).exists()}


async def _of_rounds(book: RoundBook) -> set[str]:
    """Ids of all runs of rounds that are not over: what one phase recorded the next ones learn from."""
    found: set[str] = set()
    before: int | None = None
    while some := await book.list(before=before):
        before = some[-1].id
        for record in some:
            if not record.state.over:
                found |= {phase.run_id or phase.run_of(record.id) for phase in record.phases}
    return found


def _as_json(report: Report) -> Outcome:
    return {
        "ok": report.ok,
        "trajectories": report.trajectories,
        "steps": report.steps,
        "policies": report.policies,
        "blobs": report.blobs,
        "bytes": report.bytes,
        "counts": dict(report.counts),
        "findings": [
            {
                "kind": one.kind,
                "subject": one.subject,
                "detail": one.detail,
                "harmless": one.kind.harmless,
                "done": one.done,
                "mended": one.mended,
            }
            for one in report.findings
        ],
    }


WORK: dict[str, Callable[[Place, Any, Progress], Awaitable[Outcome]]] = {
    "fsck": fsck,
    "gc": gc,
    "judge": scoring.judge,
    "label": scoring.label,
    "prm-train": scoring.train,
    "prm-score": scoring.score,
    "calibrate": scoring.calibrate,
    "merge": merge,
    "check-tasks": check_tasks,
    "grow-tasks": grow_tasks,
}
