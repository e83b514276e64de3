"""What jobs do, each by its order: on this home by a command, or in the process of a platform's job."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.filters import labelled
from deskhand_flywheel.tables import events, trajectories, trajectory_labels
from deskhand_flywheel.types import EventKind
from deskhand_flywheel.upkeep import Report, RetentionRule, collect, retention_rule
from deskhand_flywheel.upkeep import fsck as check
from deskhand_flywheel.upkeep.retention import may_go
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
from deskhand_trainer.run_folder import listed_episodes

SILENT_S = 7 * 86400.0
"""After which a run of another home that tells the store nothing holds no episodes back."""
_OF_RUN = "run:"


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
    """Drop what may go, or say what would; and of which runs of other homes, in case one is only paused.

    Raises:
        InvalidField: the rule is none.
    """
    rule = rule_of(order)
    async with place.store() as store:
        here, database = place.home / "runs", store.database
        alive, silent = await runs_elsewhere(database, here)
        unfinished = unfinished_runs(here)
        runs = unfinished | alive | await _of_rounds(RoundBook(database))
        given_up = await _with_old_episodes(database, rule, silent - runs)
        named = {each for run in unfinished for each in listed_episodes(here / run)}
        done = await collect(store, rule, apply=order.apply, runs=runs, named=named, progress=progress)
    return json.loads(json.dumps({**asdict(done), "given_up": given_up}))


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


async def runs_elsewhere(database: Database, folder: Path) -> tuple[set[str], set[str]]:
    """Ids of the runs that began and did not finish, as the store was told, and that have no folder here.

    They are other homes' that share it: those that go on, and those that have told nothing for `SILENT_S` and
    are taken for given up.
    """
    of_runs = events.c.subject.startswith(_OF_RUN)
    states = (events.c.kind == EventKind.STATE.value, events.c.name == "run", of_runs)
    last = sa.select(sa.func.max(events.c.id)).where(*states).group_by(events.c.subject)
    told = sa.select(events.c.subject, events.c.data).where(events.c.id.in_(last))
    heard = sa.select(events.c.subject).where(of_runs, events.c.at_s > time.time() - SILENT_S).distinct()
    async with database.read() as connection:
        alive = set(await connection.scalars(heard))
        rows = (await connection.execute(told)).all()
    begun = [row.subject for row in rows if json.loads(row.data).get("state") == "running"]
    ids = {subject.removeprefix(_OF_RUN): subject in alive for subject in begun}
    elsewhere = {id: going for id, going in ids.items() if not (folder / id).is_dir()}
    return ({id for id, going in elsewhere.items() if going}, {id for id in elsewhere if not elsewhere[id]})


async def _with_old_episodes(database: Database, rule: RetentionRule, runs: Collection[str]) -> list[str]:
    """Those of some runs that have episodes which the rule lets go."""
    labels = trajectory_labels
    of = labels.join(trajectories, trajectories.c.id == labels.c.trajectory_id)
    named = sa.select(labels.c.value).distinct().select_from(of).where(labels.c.key == "run")
    async with database.read() as connection:
        found = await connection.scalars(named.where(may_go(rule), labelled("run", runs)))
    return sorted(found)


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
