"""How the platform stands, for Prometheus: its queue, rounds, episodes and runs, and its sandboxes.

Everything but the sandbox host's own figures is read from the database at each scrape: a restart loses
nothing, and what several processes do is counted once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import httpx
import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.tables import events, trajectories
from deskhand_flywheel.types import EventKind
from deskhand_platform import host_address
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState
from deskhand_platform.tables import round_phases, rounds, tasks, webhook_deliveries
from deskhand_platform.webhooks.book import DeliveryState

HOST_DEADLINE_S = 2.0
RECENT_S = 300.0
"""A run that has told nothing for so long tells nothing here."""
MOST_EVENTS = 1000
LEARNING = "ppo/iteration"
"""Event that tells of an update."""


class _Told(Collector):
    """Families of figures that are known already."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return iter(self._families)


async def exposition(services: Services) -> bytes:
    """All of it.

    Raises:
        StoreUnavailable: the database cannot be read.
    """
    now = time.time()
    async with services.store.database.read() as connection:
        families = [
            await _by_state(connection, "deskhand_tasks", tasks, but=(WorkState.SKIPPED, WorkState.PAUSED)),
            await _by_state(connection, "deskhand_rounds", rounds, but=(WorkState.SKIPPED,)),
            await _oldest_wait(connection, now),
            await _episodes(connection),
            await _failures(connection),
            await _rates(connection, now),
            await _run_figures(connection, now),
        ]
    families.append(await _alarms(services))
    up = GaugeMetricFamily("deskhand_sandbox_host_up", "1 where sandboxes can be leased")
    up.add_metric([], float(services.hosting.host_state == "up"))
    registry = CollectorRegistry()
    registry.register(_Told([*families, up]))
    return generate_latest(registry) + await _host_figures(services)


async def _by_state(
    connection: AsyncConnection, name: str, table: sa.Table, *, but: Collection[WorkState]
) -> GaugeMetricFamily:
    query = sa.select(table.c.state, sa.func.count()).group_by(table.c.state)
    counts = dict((await connection.execute(query)).all())
    family = GaugeMetricFamily(name, "By state", labels=["state"])
    for state in WorkState:
        if state not in but:
            family.add_metric([state], counts.get(state, 0))
    return family


async def _oldest_wait(connection: AsyncConnection, now: float) -> GaugeMetricFamily:
    query = sa.select(sa.func.min(tasks.c.created_at_s)).where(tasks.c.state == WorkState.QUEUED)
    since = (await connection.execute(query)).scalar()
    family = GaugeMetricFamily("deskhand_task_oldest_wait_seconds", "Of the tasks that wait, the oldest")
    family.add_metric([], 0.0 if since is None else max(0.0, now - since))
    return family


async def _episodes(connection: AsyncConnection) -> GaugeMetricFamily:
    outcome = sa.case(
        (trajectories.c.failure.is_not(None), "broken"),
        (trajectories.c.success.is_(True), "success"),
        (trajectories.c.success.is_(False), "failure"),
        (trajectories.c.ended_at_s.is_(None), "unfinished"),
        else_="no verdict",
    )
    found = await connection.execute(sa.select(outcome, sa.func.count()).group_by(outcome))
    family = GaugeMetricFamily("deskhand_trajectories", "Recorded, by how they ended", labels=["outcome"])
    for name, count in found:
        family.add_metric([name], count)
    return family


async def _failures(connection: AsyncConnection) -> GaugeMetricFamily:
    """Episodes by what broke them, phases of rounds that failed by kind, webhooks that never arrived."""
    broken, failed = trajectories.c.failure, round_phases.c.state == WorkState.FAILED
    dead = webhook_deliveries.c.state == DeliveryState.DEAD
    queries = {
        "episode": sa.select(broken, sa.func.count()).where(broken.is_not(None)).group_by(broken),
        "phase": sa.select(round_phases.c.kind, sa.func.count()).where(failed).group_by(round_phases.c.kind),
        "webhook": sa.select(sa.literal("dead"), sa.func.count()).select_from(webhook_deliveries).where(dead),
    }
    family = GaugeMetricFamily("deskhand_failures", "What broke, by kind", labels=["of", "failure"])
    for of, query in queries.items():
        for name, count in await connection.execute(query):
            family.add_metric([of, name], count)
    return family


async def _rates(connection: AsyncConnection, now: float) -> GaugeMetricFamily:
    """What was done lately: tasks and episodes that ended, their turns, and turns that runs learned from."""
    since = now - RECENT_S
    ended = sa.select(sa.func.count(), sa.func.sum(trajectories.c.length)).where(
        trajectories.c.ended_at_s > since
    )
    episodes, turns = (await connection.execute(ended)).one()
    settled = sa.select(sa.func.count()).select_from(tasks).where(tasks.c.ended_at_s > since)
    learning = sa.select(events.c.data).where(
        events.c.kind == EventKind.METRIC, events.c.name == LEARNING, events.c.at_s > since
    )
    learned = [json.loads(data) for (data,) in await connection.execute(learning)]
    done = {
        "tasks": (await connection.execute(settled)).scalar() or 0,
        "episodes": episodes,
        "turns": turns or 0,
        "learned_turns": sum(each.get("learned_turns", 0) for each in learned),
    }
    family = GaugeMetricFamily(
        "deskhand_per_second", f"Done in the last {RECENT_S:g} seconds, by second", labels=["what"]
    )
    for what, count in done.items():
        family.add_metric([what], count / RECENT_S)
    return family


async def _run_figures(connection: AsyncConnection, now: float) -> GaugeMetricFamily:
    """The newest numbers of every run that is under way."""
    query = (
        sa.select(events.c.subject, events.c.name, events.c.data)
        .where(events.c.kind == EventKind.METRIC, events.c.at_s > now - RECENT_S)
        .order_by(events.c.id.desc())
        .limit(MOST_EVENTS)
    )
    family = GaugeMetricFamily(
        "deskhand_run", "Newest figures of runs under way", labels=["run", "series", "figure"]
    )
    seen: set[tuple[str, str]] = set()
    for subject, name, data in await connection.execute(query):
        if (subject, name) in seen:
            continue
        seen.add((subject, name))
        values: Mapping[str, Any] = json.loads(data)
        for figure, value in values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                family.add_metric([subject.removeprefix("run:"), name, figure], value)
    return family


async def _alarms(services: Services) -> GaugeMetricFamily:
    family = GaugeMetricFamily("deskhand_alarms", "That are not over", labels=["alarm", "subject", "state"])
    for alarm in await AlarmBook(services.store).open():
        family.add_metric([alarm.name, alarm.subject, alarm.state], 1)
    return family


async def _host_figures(services: Services) -> bytes:
    """What the sandbox host tells; nothing while it is not up."""
    found = host_address.published(services.settings.home)
    if found is None:
        return b""
    url, token = found
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with httpx.AsyncClient(timeout=HOST_DEADLINE_S, trust_env=False) as http:
            answer = await http.get(f"{url}/metrics", headers=headers)
            answer.raise_for_status()
    except httpx.HTTPError:
        return b""
    return answer.content
