"""/v1/schedules: rounds that begin by themselves, by the clock or when enough new successes are there."""

from __future__ import annotations

from typing import cast

from fastapi import APIRouter

from deskhand_platform.api.deps import Have, Noted, RowId
from deskhand_platform.api.endpoints import check_overrides
from deskhand_platform.api.models import JsonObject
from deskhand_platform.api.models_rounds import ScheduleBody, ScheduleModel
from deskhand_platform.api.whole_text import as_sent
from deskhand_platform.rounds.scheduler import successes
from deskhand_platform.rounds.schedules import Schedule, ScheduleOrder
from deskhand_platform.services import Services

router = APIRouter(tags=["rounds"])


@router.get("/schedules")
async def list_schedules(have: Have) -> list[ScheduleModel]:
    """Every schedule, oldest first."""
    return [await shown(one, have) for one in await have.schedules.list()]


@router.post("/schedules", status_code=201)
async def create_schedule(have: Have, noted: Noted, body: ScheduleBody) -> ScheduleModel:
    """Let rounds begin by themselves; never two at a time."""
    made = await have.schedules.create(order(body, have))
    noted(f"{made.id}: {as_sent(body)}")
    return await shown(made, have)


@router.put("/schedules/{id}")
async def replace_schedule(have: Have, noted: Noted, id: RowId, body: ScheduleBody) -> ScheduleModel:
    """Change a schedule, or switch it on or off."""
    noted(as_sent(body))
    return await shown(await have.schedules.replace(id, order(body, have)), have)


@router.delete("/schedules/{id}", status_code=204)
async def delete_schedule(have: Have, id: RowId) -> None:
    """Forget a schedule; rounds that it began stay."""
    await have.schedules.delete(id)


def order(body: ScheduleBody, have: Services) -> ScheduleOrder:
    """What a body asks for.

    Raises:
        InvalidField: its rounds would ask at an address that the settings do not name.
    """
    check_overrides(body.overrides, have.settings.jobs.endpoints)
    return ScheduleOrder(**body.model_dump())


async def shown(schedule: Schedule, have: Services) -> ScheduleModel:
    """A schedule for the wire."""
    counts = schedule.new_successes is not None
    return ScheduleModel(
        id=schedule.id,
        preset=schedule.preset,
        overrides=cast(JsonObject, dict(schedule.overrides)),
        cron=schedule.cron,
        timezone=schedule.timezone,
        new_successes=schedule.new_successes,
        successes=await successes(schedule, have.book, have.store) if counts else None,
        enabled=schedule.enabled,
        next_at_s=schedule.next_at_s,
        last_at_s=schedule.last_at_s,
        last_round=schedule.last_round,
        note=schedule.note,
        created_at_s=schedule.created_at_s,
    )
