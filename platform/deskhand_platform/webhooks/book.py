"""The `webhooks` and `webhook_deliveries` tables.

What happened to tasks, and every alarm, stands in the event table, written with the change itself. A webhook
knows up to which event its deliveries have been made, and both move on in one transaction: whenever the
platform dies, everything is delivered, at worst twice, and then under the same id.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping

from deskhand_agent.ids import new_id
from deskhand_flywheel.database import Database
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.alarms.book import STATE, AlarmState
from deskhand_platform.client.signature import new_secret
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.feed import Chosen
from deskhand_platform.states import WorkState
from deskhand_platform.tables import webhook_deliveries, webhooks
from deskhand_platform.task_events import NAME, told
from deskhand_platform.webhooks.about import About
from deskhand_sandbox.types import JsonValue

MOST = 100
"""Webhooks of one platform."""


class DeliveryState(StrEnum):
    """How a delivery stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    """Given up; `retry` sends it again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """Somebody who is told."""

    id: str
    url: str
    about: About
    labels: Mapping[str, str]
    """Of the tasks it is told of; all of them."""
    states: tuple[WorkState, ...]
    """It is told when a task comes into one of these."""
    created_at_s: float
    after_event: int
    """Events up to it have become deliveries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One thing one webhook is told."""

    id: str
    webhook_id: str
    state: DeliveryState
    payload: Mapping[str, JsonValue]
    attempts: int
    due_at_s: float | None
    """When it is sent next; None once it has arrived or been given up."""
    reason: str | None
    """What came of the latest attempt, where it was not delivered."""
    created_at_s: float
    ended_at_s: float | None


class WebhookBook:
    """Who is told, and of what."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        url: str,
        about: About,
        labels: Mapping[str, str],
        states: Sequence[WorkState],
        after_event: int,
    ) -> tuple[Webhook, str]:
        """Tell somebody from the event after `after_event` on; the secret is told this once.

        Raises:
            InvalidField: there are too many already.
        """
        secret = new_secret()
        values: dict[str, Any] = {
            "id": new_id(),
            "url": url,
            "secret": secret,
            "about": about,
            "labels": dict(labels),
            "states": [*states],
            "after_event": after_event,
            "created_at_s": time.time(),
        }
        async with self._database.write() as connection:
            count = await connection.scalar(sa.select(sa.func.count()).select_from(webhooks))
            if (count or 0) >= MOST:
                raise InvalidField("url", f"there are {MOST} webhooks already: remove one first")
            await connection.execute(webhooks.insert().values(values))
        return await self.get(values["id"]), secret

    async def list(self) -> tuple[Webhook, ...]:
        """Everybody who is told, newest first."""
        async with self._database.read() as connection:
            rows = (await connection.execute(sa.select(webhooks).order_by(webhooks.c.id.desc()))).mappings()
            return tuple(_webhook(row) for row in rows)

    async def get(self, id: str) -> Webhook:
        """One of them.

        Raises:
            NotFound: there is none of that id.
        """
        async with self._database.read() as connection:
            row = (
                (await connection.execute(sa.select(webhooks).where(webhooks.c.id == id))).mappings().first()
            )
        if row is None:
            raise NotFound("webhook", id)
        return _webhook(row)

    async def remove(self, id: str) -> Webhook:
        """Tell somebody no more; what was not delivered yet is not delivered.

        Raises:
            NotFound: there is none of that id.
        """
        found = await self.get(id)
        async with self._database.write() as connection:
            await connection.execute(webhook_deliveries.delete().where(webhook_deliveries.c.webhook_id == id))
            await connection.execute(webhooks.delete().where(webhooks.c.id == id))
        return found

    async def deliveries(
        self, id: str, *, state: DeliveryState | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[Delivery, ...]:
        """What one of them was and is to be told, newest first.

        Raises:
            NotFound: there is none of that id.
        """
        await self.get(id)
        table = webhook_deliveries
        query = sa.select(table).where(table.c.webhook_id == id).order_by(table.c.id.desc()).limit(limit)
        if state is not None:
            query = query.where(table.c.state == state)
        if before is not None:
            query = query.where(table.c.id < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_delivery(row) for row in rows)

    async def retry(self, id: str, delivery_id: str) -> Delivery:
        """Send again what was given up.

        Raises:
            NotFound: there is no such webhook, or none of its deliveries has that id.
            WrongState: it was not given up.
        """
        await self.get(id)
        mine = sa.and_(webhook_deliveries.c.webhook_id == id, webhook_deliveries.c.id == delivery_id)
        again: dict[str, Any] = {
            "state": DeliveryState.PENDING,
            "attempts": 0,
            "due_at_s": time.time(),
            "ended_at_s": None,
        }
        dead = webhook_deliveries.c.state == DeliveryState.DEAD
        async with self._database.write() as connection:
            done = await connection.execute(webhook_deliveries.update().where(mine, dead).values(again))
            row = (await connection.execute(sa.select(webhook_deliveries).where(mine))).mappings().first()
        if row is None:
            raise NotFound("delivery", delivery_id)
        if not done.rowcount:
            raise WrongState(f"delivery {delivery_id} is {row['state']}: only a dead one is sent again")
        return _delivery(row)

    # ---- for who delivers ----

    async def spread(self, webhook: Webhook, events: Sequence[Event], seen: int) -> int:
        """Make what a webhook is told of some events into deliveries; how many.

        Args:
            seen: the last event that has been looked at.
        """
        now = time.time()
        rows = [
            {
                "id": new_id(),
                "webhook_id": webhook.id,
                "state": DeliveryState.PENDING,
                "payload": payload,
                "due_at_s": now,
                "created_at_s": now,
            }
            for event in events
            if (payload := _payload(webhook, event)) is not None
        ]
        here = webhooks.c.id == webhook.id, webhooks.c.after_event == webhook.after_event
        async with self._database.write() as connection:
            moved = await connection.execute(webhooks.update().where(*here).values(after_event=seen))
            if not moved.rowcount:
                return 0
            if rows:
                await connection.execute(webhook_deliveries.insert(), rows)
        return len(rows)

    async def due(self, limit: int, without: Sequence[str]) -> tuple[tuple[Delivery, str, str], ...]:
        """What is to be sent now, the longest overdue first: each with its URL and secret."""
        table = webhook_deliveries
        query = (
            sa.select(table, webhooks.c.url, webhooks.c.secret)
            .join(webhooks, webhooks.c.id == table.c.webhook_id)
            .where(table.c.due_at_s <= time.time(), table.c.id.not_in(without))
            .order_by(table.c.due_at_s)
            .limit(limit)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple((_delivery(row), row["url"], row["secret"]) for row in rows)

    async def delivered(self, delivery: Delivery) -> None:
        """It has arrived."""
        await self._settle(delivery, state=DeliveryState.DELIVERED, due_at_s=None, reason=None)

    async def missed(self, delivery: Delivery, reason: str, due_at_s: float | None) -> None:
        """It did not arrive, and is sent again then; None: never."""
        state = DeliveryState.DEAD if due_at_s is None else DeliveryState.PENDING
        await self._settle(delivery, state=state, due_at_s=due_at_s, reason=reason)

    async def _settle(self, delivery: Delivery, **values: Any) -> None:
        values["attempts"] = delivery.attempts + 1
        if values["due_at_s"] is None:
            values["ended_at_s"] = time.time()
        change = webhook_deliveries.update().where(webhook_deliveries.c.id == delivery.id).values(values)
        async with self._database.write() as connection:
            await connection.execute(change)


def _payload(webhook: Webhook, event: Event) -> dict[str, JsonValue] | None:
    """What it is told of an event; None: nothing."""
    if webhook.about is About.ALARMS:
        if event.kind is not EventKind.ALARM:
            return None
        state = event.data.get(STATE, AlarmState.RAISED.value)
        named: dict[str, JsonValue] = {"subject": event.subject, "name": event.name, STATE: state}
        return {"type": f"alarm.{state}", "data": {**told(event), **named}}
    if event not in Chosen(name=NAME, labels=webhook.labels) or event.data["state"] not in webhook.states:
        return None
    return {"type": f"task.{event.data['state']}", "data": told(event)}


def _webhook(row: RowMapping) -> Webhook:
    return Webhook(
        id=row["id"],
        url=row["url"],
        about=About(row["about"]),
        labels=row["labels"],
        states=tuple(WorkState(state) for state in row["states"]),
        created_at_s=row["created_at_s"],
        after_event=row["after_event"],
    )


def _delivery(row: RowMapping) -> Delivery:
    return Delivery(
        id=row["id"],
        webhook_id=row["webhook_id"],
        state=DeliveryState(row["state"]),
        payload=row["payload"],
        attempts=row["attempts"],
        due_at_s=row["due_at_s"],
        reason=row["reason"],
        created_at_s=row["created_at_s"],
        ended_at_s=row["ended_at_s"],
    )
