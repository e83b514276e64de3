"""/v1/overview: what runs now, and how it goes."""

from __future__ import annotations

import time

import sqlalchemy as sa
from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.tables import trajectories
from deskhand_platform import host_address
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.api.alarm_models import Overview, PoolModel, RecentEpisodes
from deskhand_platform.api.deps import Have, Who
from deskhand_platform.api.routes import alarms, rounds, tasks
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks as task_table
from deskhand_sandbox.errors import SandboxError

router = APIRouter(tags=["info"])
RUNNING = 10
LAST_ROUNDS = 30
RECENT_S = 3600.0
NEWEST = 1000


@router.get("/overview")
async def get_overview(have: Have, who: Who) -> Overview:
    """Queue, sandboxes, the round that runs and the last one's success, alarms. With a token for some scopes
    the tasks that run need `tasks:read`, and alarms `metrics:read`; their lists are empty without.
    """
    now = time.time()
    async with have.store.database.read() as connection:
        counts = await _counts(connection)
        oldest = await connection.scalar(
            sa.select(sa.func.min(task_table.c.created_at_s)).where(task_table.c.state == WorkState.QUEUED)
        )
        recent = await _recent(connection, now)
    sees_tasks, sees_alarms = ("tasks:read" in who.scopes), ("metrics:read" in who.scopes)
    running = await have.queue.list(state=WorkState.RUNNING, limit=RUNNING) if sees_tasks else ()
    raised = await AlarmBook(have.store).open() if sees_alarms else ()
    under_way = await have.book.running()
    ended = [one for one in await have.book.list(limit=LAST_ROUNDS) if one.state is WorkState.DONE]
    return Overview(
        tasks=counts,
        oldest_wait_s=None if oldest is None else max(0.0, now - oldest),
        running=[tasks.shown(one) for one in running],
        round=None if under_way is None else rounds.summary(await have.book.get(under_way)),
        last_round=rounds.summary(ended[0]) if ended else None,
        pools=await _pools(have),
        recent=recent,
        alarms=[alarms.shown(one) for one in raised],
    )


async def _counts(connection: AsyncConnection) -> dict[str, int]:
    query = sa.select(task_table.c.state, sa.func.count()).group_by(task_table.c.state)
    found = {row.state: row[1] for row in await connection.execute(query)}
    return {state.value: found.get(state, 0) for state in WorkState if state is not WorkState.SKIPPED}


async def _recent(connection: AsyncConnection, now: float) -> RecentEpisodes:
    table = trajectories
    wanted = (table.c.started_at_s, table.c.ended_at_s, table.c.success, table.c.failure)
    query = sa.select(*wanted).order_by(table.c.id.desc()).limit(NEWEST + 1)
    newest, since = (await connection.execute(query)).all(), now - RECENT_S
    # some of the newest are under way: that there are others is not to be told by how many have ended
    more = len(newest) > NEWEST and newest[-1].started_at_s > since
    rows = [row for row in newest[:NEWEST] if row.ended_at_s is not None and row.ended_at_s > since]
    return RecentEpisodes(
        more=more,
        ended=len(rows),
        succeeded=sum(row.success is True for row in rows),
        broken=sum(row.failure is not None for row in rows),
    )


async def _pools(have: Services) -> list[PoolModel] | None:
    from deskhand_sandbox.host import SandboxClient

    address = host_address.published(have.settings.home)
    if address is None:
        return None
    try:
        async with SandboxClient(*address) as client:
            status = await client.status()
    except SandboxError:
        return None
    return [
        PoolModel(
            kind=pool.kind,
            leased=pool.leased,
            idle=pool.idle,
            creating=pool.creating,
            queued=pool.queued,
            most=pool.max_sandboxes,
            lost=sum(number for reason, number in pool.lost.items() if reason.failure),
        )
        for pool in status.pools
    ]
