"""Changes of submitted tasks as rows of the event table, written with the change itself.

A stream and a webhook read them from there: what has been acknowledged is told, whoever died meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.events import append_events
from deskhand_flywheel.types import Event, EventKind
from deskhand_sandbox.types import JsonValue

NAME = "task"
PREFIX = "task:"
TOLD = ("id", "state", "owner", "labels", "attempts", "trajectory_id", "outcome", "reason")
"""What of a row of `tasks` is told as it stands."""


async def tell(connection: AsyncConnection, rows: Sequence[RowMapping]) -> None:
    """Write down how changed rows of `tasks` stand now, in the transaction that changed them."""
    if rows:
        await append_events(connection, [_event(row) for row in rows])


def subject(queued_id: str) -> str:
    """What events about a submitted task are about."""
    return f"{PREFIX}{queued_id}"


def is_task_event(event: Event) -> bool:
    """Whether it was written by `tell`."""
    return event.name == NAME and event.subject.startswith(PREFIX)


def told(event: Event) -> dict[str, JsonValue]:
    """What streams and webhooks are told of it."""
    return {"event_id": event.id, "at_s": event.at_s, **event.data}


def _event(row: RowMapping) -> Event:
    told: dict[str, Any] = {name: row[name] for name in TOLD}
    task = cast("dict[str, Any]", row["task"])
    return Event(
        id=0,
        at_s=time.time(),
        subject=subject(row["id"]),
        kind=EventKind.STATE,
        name=NAME,
        data={**told, "task_id": task["id"], "seed": task["seed"]},
    )
