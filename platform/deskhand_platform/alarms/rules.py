"""When something is wrong, from what the store holds: rules over a few figures, and how these are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.tables import events, trajectories
from deskhand_flywheel.types import EventKind
from deskhand_platform.settings import AlarmSettings
from deskhand_platform.states import WorkState
from deskhand_platform.tables import round_phases, tasks
from deskhand_sandbox.types import JsonValue

PLATFORM = "platform"
WINDOW = 5
"""Iterations that are averaged: one alone says little."""
NEWEST = 200
"""Episodes that are looked at."""
RUN_RECENT_S = 1800.0
"""A run that has told nothing for so long is not under way."""
MOST_ITERATIONS = 5000
FAILURES_WITHIN_S = 3600.0
ITERATION = "ppo/iteration"
NEWEST_METRICS = 2000
"""Events among which runs under way are looked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """A rule that is broken now."""

    subject: str
    name: str
    data: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Whether episodes should be arriving, and whether they do."""

    waiting_since_s: float | None
    """Unix time since when something wants episodes; None: nothing does."""
    newest_s: float | None
    """Unix time at which an episode last began or ended."""


async def troubles(
    connection: AsyncConnection, settings: AlarmSettings, home: Path, now: float
) -> tuple[Trouble, ...]:
    """Everything that is wrong now."""
    ended = await _newest_failures(connection, now)
    found = [
        no_rollouts(await _work(connection), settings, now),
        failure_rate(ended, settings),
        disk_low(shutil.disk_usage(home).free, settings),
    ]
    for subject, series in (await _iterations(connection, now)).items():
        found += [reward_collapse(subject, series, settings), entropy_collapse(subject, series, settings)]
    return tuple(each for each in found if each is not None)


def no_rollouts(work: Work, settings: AlarmSettings, now: float) -> Trouble | None:
    """There is work for episodes, and none has begun or ended for `quiet_s`."""
    if work.waiting_since_s is None:
        return None
    since = max(work.waiting_since_s, work.newest_s or 0.0)
    if now - since < settings.quiet_s:
        return None
    advice = "see whether the sandbox host and the episode worker are up, and their logs"
    return _of_platform("no_rollouts", round(now - since), settings.quiet_s, "s", advice)


def failure_rate(failed: Sequence[bool], settings: AlarmSettings) -> Trouble | None:
    """Too many of the newest episodes were broken by something that was not the agent."""
    if len(failed) < settings.failure_episodes:
        return None
    share = sum(failed) / len(failed)
    if share < settings.failure_share:
        return None
    advice = f"of the newest {len(failed)} episodes; filter trajectories by what broke"
    return _of_platform("failure_rate", round(share, 3), settings.failure_share, "share", advice)


def disk_low(free: int, settings: AlarmSettings) -> Trouble | None:
    """Too few bytes are free."""
    if free >= settings.disk_free_gb * 1e9:
        return None
    advice = "`deskhand flywheel gc` drops what nothing cites"
    return _of_platform("disk_low", round(free / 1e9, 2), settings.disk_free_gb, "GB free", advice)


def reward_collapse(
    subject: str, series: Sequence[Mapping[str, JsonValue]], settings: AlarmSettings
) -> Trouble | None:
    """A run succeeds far less than it did."""
    values = _numbers(series, "success_sampled")
    if len(values) < 2 * WINDOW:
        return None
    best = max(fmean(values[at : at + WINDOW]) for at in range(len(values) - WINDOW + 1))
    last = fmean(values[-WINDOW:])
    if best <= 0 or last >= settings.reward_share * best:
        return None
    advice = f"success was {best:.3f}; a smaller learning rate or an earlier checkpoint"
    return _of(subject, "reward_collapse", round(last, 4), round(settings.reward_share * best, 4), "", advice)


def entropy_collapse(
    subject: str, series: Sequence[Mapping[str, JsonValue]], settings: AlarmSettings
) -> Trouble | None:
    """A run's policy hardly varies any more: it cannot find anything new."""
    values = _numbers(series, "entropy")
    if len(values) < 2 * WINDOW:
        return None
    first, last = fmean(values[:WINDOW]), fmean(values[-WINDOW:])
    if first <= 0 or last >= settings.entropy_share * first:
        return None
    advice = f"entropy was {first:.3g}; a wider upper clip or an entropy bonus keeps it up"
    limit = settings.entropy_share * first
    return _of(subject, "entropy_collapse", round(last, 6), round(limit, 6), "", advice)


def _of_platform(name: str, value: float, limit: float, unit: str, advice: str) -> Trouble:
    return _of(PLATFORM, name, value, limit, unit, advice)


def _of(subject: str, name: str, value: float, limit: float, unit: str, advice: str) -> Trouble:
    data: dict[str, JsonValue] = {"value": value, "limit": limit, "advice": advice}
    return Trouble(subject=subject, name=name, data={**data, **({"unit": unit} if unit else {})})


def _numbers(series: Sequence[Mapping[str, JsonValue]], name: str) -> list[float]:
    values = (point.get(name) for point in series)
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


async def _work(connection: AsyncConnection) -> Work:
    asked = [WorkState.QUEUED, WorkState.RUNNING]
    since = sa.func.coalesce(tasks.c.started_at_s, tasks.c.created_at_s)
    task_since = await connection.scalar(sa.select(sa.func.min(since)).where(tasks.c.state.in_(asked)))
    phase_since = await connection.scalar(
        sa.select(sa.func.min(round_phases.c.started_at_s)).where(
            round_phases.c.state == WorkState.RUNNING,
            round_phases.c.kind.in_(("collect", "evaluate")),
        )
    )
    newest = (
        sa.select(trajectories.c.started_at_s, trajectories.c.stored_at_s)
        .order_by(trajectories.c.id.desc())
        .limit(NEWEST)
    )
    moments = [at for row in await connection.execute(newest) for at in row if at is not None]
    wanted = [at for at in (task_since, phase_since) if at is not None]
    return Work(waiting_since_s=min(wanted, default=None), newest_s=max(moments, default=None))


async def _newest_failures(connection: AsyncConnection, now: float) -> list[bool]:
    query = (
        sa.select(trajectories.c.failure, trajectories.c.ended_at_s)
        .order_by(trajectories.c.id.desc())
        .limit(NEWEST)
    )
    return [
        failure is not None
        for failure, ended_at_s in await connection.execute(query)
        if ended_at_s is not None and ended_at_s > now - FAILURES_WITHIN_S
    ]


async def _iterations(connection: AsyncConnection, now: float) -> dict[str, list[Mapping[str, JsonValue]]]:
    """Subject -> what each iteration told, in order, of the runs under way."""
    metric = events.c.kind == EventKind.METRIC.value
    newest = sa.select(events.c.subject, events.c.name, events.c.at_s).where(metric)
    rows = await connection.execute(newest.order_by(events.c.id.desc()).limit(NEWEST_METRICS))
    subjects = {subject for subject, name, at_s in rows if name == ITERATION and at_s > now - RUN_RECENT_S}
    found: dict[str, list[Mapping[str, JsonValue]]] = {}
    for subject in sorted(subjects):
        query = sa.select(events.c.data).where(events.c.subject == subject, events.c.name == ITERATION)
        told = (await connection.scalars(query.order_by(events.c.id).limit(MOST_ITERATIONS))).all()
        found[subject] = [cast("Mapping[str, JsonValue]", json.loads(each)) for each in told]
    return found
