"""/v1/alarms: what a person should look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from deskhand_platform.alarms.book import STATE, Alarm, AlarmBook
from deskhand_platform.api.alarm_models import AlarmModel
from deskhand_platform.api.deps import Cursor, Have, Limit, User, before
from deskhand_platform.api.models import Page
from deskhand_platform.api.recorded import plain

router = APIRouter(tags=["alarms"])
MAX_ID = 2**63 - 1


@router.get("/alarms")
async def list_alarms(
    have: Have,
    open: Annotated[bool | None, Query(description="those that are not over, or those that are")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[AlarmModel]:
    """Alarms, newest first."""
    older = before(cursor)
    every = [one for one in await AlarmBook(have.store).all() if older is None or one.id < older]
    found = [one for one in every if open is None or one.open == open]
    more = str(found[limit - 1].id) if len(found) > limit else None
    return Page[AlarmModel](items=[shown(one) for one in found[:limit]], next_cursor=more)


@router.post("/alarms/{id}/acknowledge")
async def acknowledge_alarm(have: Have, user: User, id: int) -> AlarmModel:
    """Say that you have seen it."""
    return shown(await AlarmBook(have.store).acknowledge(id, user))


def shown(alarm: Alarm) -> AlarmModel:
    """An alarm for the wire."""
    return AlarmModel(
        id=alarm.id,
        subject=alarm.subject,
        name=alarm.name,
        state=alarm.state,
        raised_at_s=alarm.raised_at_s,
        cleared_at_s=alarm.cleared_at_s,
        acknowledged_at_s=alarm.acknowledged_at_s,
        acknowledged_by=alarm.acknowledged_by,
        times=alarm.times,
        data={key: value for key, value in plain(alarm.data).items() if key != STATE},
    )
