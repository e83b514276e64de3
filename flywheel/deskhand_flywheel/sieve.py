"""What of the episodes chosen for a dataset is left out: too hard, easy or long, contaminated, repeated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Any, NamedTuple

from blake3 import blake3
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.types import Step, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.curation import Candidate, out_of_band, overlong, thinned
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.errors import RecordError
from deskhand_flywheel.records import encode, encode_action, loads
from deskhand_flywheel.types import Sieve

"""Ids in one query: below every database's limit on parameters."""


class Sifted(NamedTuple):
    """What stays, in the order it came, and how many were left out, by why."""

    ids: list[str]
    left_out: dict[str, int]


async def sift(
    connection: AsyncConnection,
    candidates: Sequence[Candidate],
    wanted: Collection[bool],
    sieve: Sieve,
    held_out: Collection[str],
) -> Sifted:
    """The candidates that a dataset takes.

    Args:
        candidates: all that are chosen from, whatever came of them: they say how hard a task is.
        wanted: verdicts that the dataset takes.
        held_out: tasks never trained on.
    """
    refused = out_of_band(candidates, sieve)
    ids = [each.id for each in candidates if each.success in wanted]
    left_out, unreadable = Counter[str](), set[str]()
    stay = [each.id for each in candidates if each.success in wanted and each.task_id not in refused]
    left_out["difficulty"] = len(ids) - len(stay)
    if sieve.within_longest:
        ids, long = stay, overlong(candidates)
        stay = [each for each in ids if each not in long]
        left_out["overlong"] = len(ids) - len(stay)
    if sieve.clean and held_out:
        ids, stay = stay, await _clean(connection, stay, held_out, unreadable)
        left_out["contaminated"] = len(ids) - len(stay) - len(unreadable)
    if sieve.unique:
        ids, already = stay, len(unreadable)
        stay = await _unique(connection, stay, unreadable)
        left_out["duplicate"] = len(ids) - len(stay) - (len(unreadable) - already)
    left_out["unreadable"] = len(unreadable)
    thin = thinned(candidates, stay, sieve)
    left_out["thinned"] = len(thin)
    stay = [each for each in stay if each not in thin]
    return Sifted(stay, {why: count for why, count in left_out.items() if count})


async def _clean(
    connection: AsyncConnection, ids: Sequence[str], held_out: Collection[str], unreadable: set[str]
) -> list[str]:
    """Without those that begin as an episode of a held-out task does: same words, same screen."""
    table = tables.trajectories
    held = await connection.scalars(select(table.c.id).where(table.c.task_id.in_(list(held_out))))
    begun = {each: beginning async for each, beginning in _beginnings(connection, ids, unreadable)}
    words = {instruction for instruction, _ in begun.values()}
    known = {beginning async for _, beginning in _beginnings(connection, held.all(), set(), words)}
    return [each for each in ids if each not in unreadable and begun.get(each) not in known]


async def _beginnings(
    connection: AsyncConnection,
    ids: Sequence[str],
    unreadable: set[str],
    words: Collection[str] | None = None,
) -> AsyncGenerator[tuple[str, tuple[str, str]]]:
    """Id, and instruction with the digest of the first screen; of those with one of these instructions.

    Args:
        unreadable: is given the ids of those whose records this version cannot read.
    """
    table, steps = tables.trajectories, tables.steps
    query = select(table.c.id, table.c.start, steps.c.step).join(steps, steps.c.trajectory_id == table.c.id)
    async for row in _chunked(connection, query.where(steps.c.step_index == 0), table.c.id, ids):
        try:
            instruction = loads(TrajectoryStart, row.start).instruction
            if words is None or instruction in words:
                yield row.id, (instruction, loads(Step, row.step).observation.screenshot.digest)
        except RecordError:
            unreadable.add(row.id)


async def _unique(connection: AsyncConnection, ids: Sequence[str], unreadable: set[str]) -> list[str]:
    """Of those told the same, that did the same and saw the same, the first; their own words may differ."""
    table, steps = tables.trajectories, tables.steps
    query = select(steps.c.trajectory_id, steps.c.step).order_by(steps.c.trajectory_id, steps.c.step_index)
    done = {each: blake3() for each in ids}
    async for row in _chunked(connection, select(table.c.id, table.c.instruction), table.c.id, ids):
        done[row.id].update(f"{json.dumps(row.instruction)}\n".encode())
    async for row in _chunked(connection, query, steps.c.trajectory_id, ids):
        try:
            step = loads(Step, row.step)
        except RecordError:
            unreadable.add(row.trajectory_id)
            continue
        actions = [encode_action(action) for action in step.decision.actions]
        turn = json.dumps([encode(step.observation.timeless), actions], sort_keys=True)
        done[row.trajectory_id].update(f"{turn}\n".encode())
    first: dict[bytes, str] = {}
    for each in ids:
        if each not in unreadable:
            first.setdefault(done[each].digest(), each)
    return list(first.values())


async def _chunked(
    connection: AsyncConnection, query: Any, key: Any, ids: Sequence[str]
) -> AsyncGenerator[Any]:
    for chunk in in_chunks(ids):
        for row in await connection.execute(query.where(key.in_(chunk))):
            yield row
