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
from deskhand_flywheel.database import Database, in_chunks
from deskhand_flywheel.parts import column_text, json_column
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.accounts.access import Role
from deskhand_platform.alarms.book import STATE, Alarm
from deskhand_platform.client.signature import new_secret
from deskhand_platform.errors import NotFound, QuotaExceeded, WrongState
from deskhand_platform.feed import Chosen
from deskhand_platform.states import AlarmState, WorkState
from deskhand_platform.tables import users, webhook_deliveries, webhooks
from deskhand_platform.task_events import NAME, told
from deskhand_platform.webhooks.about import About
from deskhand_sandbox.types import JsonValue

RETRY_S = 3600.0
"""Of an owner who has as many as they may: none goes by itself."""


class Sees(StrEnum):
    """What the owner of a webhook may see now: it is told no more than that."""

    ALL = "all"
    OWN = "own"
    """Tasks of theirs, and no alarms."""
    NOTHING = "nothing"
    """They are shut out."""


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
    owner: str | None
    """Who made it; None: it was made before webhooks had owners, and is told like an operator's."""
    sees: Sees
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """A delivery to be sent now."""

    delivery: Delivery
    owner: str
    """Of its webhook; empty where it has none."""
    url: str
    secret: str


class WebhookBook:
    """Who is told, and of what."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        owner: str,
        limit: int,
        url: str,
        about: About,
        labels: Mapping[str, str],
        states: Sequence[WorkState],
        after_event: int,
        standing: Sequence[Alarm] = (),
    ) -> tuple[Webhook, str]:
        """Tell somebody from the event after `after_event` on; the secret is told this once.

        Args:
            standing: alarms that are not over, of which it is told first.
            limit: how many its owner may have.

        Raises:
            QuotaExceeded: they have as many.
        """
        secret = new_secret()
        values: dict[str, Any] = {
            "id": new_id(),
            "owner": owner,
            "url": url,
            "secret": secret,
            "about": about,
            "labels": dict(labels),
            "states": [*states],
            "after_event": after_event,
            "created_at_s": time.time(),
        }
        async with self._database.write() as connection:
            # two at once do not get past the limit together
            await connection.execute(sa.select(users.c.name).where(users.c.name == owner).with_for_update())
            theirs = sa.select(sa.func.count()).select_from(webhooks).where(webhooks.c.owner == owner)
            count = await connection.scalar(theirs) or 0
            if count >= limit:
                raise QuotaExceeded(
                    f"{owner} has {count} webhooks of {limit}: remove one first, or have the setting "
                    "webhooks.per_owner raised",
                    used=count,
                    limit=limit,
                    asked=1,
                    retry_s=RETRY_S,
                )
            await connection.execute(webhooks.insert().values(values))
            first = [_pending(values["id"], _of_alarm(alarm), time.time()) for alarm in standing]
            if first:
                await connection.execute(webhook_deliveries.insert(), first)
        return await self.get(values["id"]), secret

    async def list(self, owner: str | None = None) -> tuple[Webhook, ...]:
        """Everybody who is told, newest first.

        Args:
            owner: only theirs; None: everybody's.
        """
        query = _SEEN if owner is None else _SEEN.where(webhooks.c.owner == owner)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(webhooks.c.id.desc()))).mappings()
            return tuple(_webhook(row) for row in rows)

    async def get(self, id: str) -> Webhook:
        """One of them.

        Raises:
            NotFound: there is none of that id.
        """
        row = await self._database.first(_SEEN.where(webhooks.c.id == id))
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
        self,
        id: str,
        *,
        only: str | None = None,
        state: DeliveryState | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> tuple[Delivery, ...]:
        """What one of them was and is to be told, newest first.

        Args:
            only: of this owner's tasks; None: of whatever.

        Raises:
            NotFound: there is none of that id.
        """
        await self.get(id)
        table = webhook_deliveries
        query = sa.select(table).where(table.c.webhook_id == id).order_by(table.c.id.desc()).limit(limit)
        if only is not None:
            query = query.where(self._tells_of(only))
        if state is not None:
            query = query.where(table.c.state == state)
        if before is not None:
            query = query.where(table.c.id < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_delivery(row) for row in rows)

    async def retry(self, id: str, delivery_id: str, only: str | None = None) -> Delivery:
        """Send again what was given up.

        Args:
            only: where it tells of this owner's tasks; None: whatever.

        Raises:
            NotFound: there is no such webhook, or none of its deliveries has that id.
            WrongState: it was not given up.
        """
        await self.get(id)
        mine = sa.and_(webhook_deliveries.c.webhook_id == id, webhook_deliveries.c.id == delivery_id)
        if only is not None:
            mine = sa.and_(mine, self._tells_of(only))
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
            raise WrongState(
                f"delivery {delivery_id} is {row['state']}: only a dead one is sent again", state=row["state"]
            )
        return _delivery(row)

    # ---- for who delivers ----

    async def spread(self, after: int, told: Sequence[Webhook], events: Sequence[Event], seen: int) -> None:
        """Make what webhooks are told of some events into deliveries.

        Args:
            after: up to which event their deliveries have been made: those that are further by now are told
                nothing twice.
            seen: the last event that has been looked at.
        """
        now = time.time()
        of = {each.id: each for each in told}
        async with self._database.write() as connection:
            for ids in in_chunks([*of]):
                here = webhooks.c.id.in_(ids), webhooks.c.after_event == after
                move = webhooks.update().where(*here).values(after_event=seen).returning(webhooks.c.id)
                rows = [
                    _pending(id, payload, now)
                    for id in (await connection.scalars(move)).all()
                    for event in events
                    if (payload := _payload(of[id], event)) is not None
                ]
                if rows:
                    await connection.execute(webhook_deliveries.insert(), rows)

    async def due(self, limit: int, without: Sequence[str], but: Sequence[str] = ()) -> tuple[Due, ...]:
        """What is to be sent now and its owner may still see, the longest overdue first.

        Args:
            without: ids of deliveries that are left out.
            but: owners whose webhooks are.
        """
        table = webhook_deliveries
        owner = sa.func.coalesce(webhooks.c.owner, "").label("owner")
        still = sa.or_(_SEES == Sees.ALL, sa.and_(_SEES == Sees.OWN, self._tells_of(webhooks.c.owner)))
        query = (
            sa.select(table, owner, webhooks.c.url, webhooks.c.secret)
            .join(webhooks, webhooks.c.id == table.c.webhook_id)
            .outerjoin(users, users.c.name == webhooks.c.owner)
            .where(table.c.due_at_s <= time.time(), still, table.c.id.not_in(without), owner.not_in(but))
            .order_by(table.c.due_at_s)
            .limit(limit)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(
            Due(delivery=_delivery(row), owner=row["owner"], url=row["url"], secret=row["secret"])
            for row in rows
        )

    async def delivered(self, delivery: Delivery) -> None:
        """It has arrived."""
        await self._settle(delivery, state=DeliveryState.DELIVERED, due_at_s=None, reason=None)

    async def missed(self, delivery: Delivery, reason: str, due_at_s: float | None) -> None:
        """It did not arrive, and is sent again then; None: never."""
        state = DeliveryState.DEAD if due_at_s is None else DeliveryState.PENDING
        await self._settle(delivery, state=state, due_at_s=due_at_s, reason=column_text(reason))

    def _tells_of(self, owner: str | sa.Column[str]) -> sa.ColumnElement[bool]:
        """A delivery tells of a task of theirs."""
        payload = json_column(self._database.is_sqlite, webhook_deliveries.c.payload)
        return payload["data"]["owner"].as_string() == owner

    async def _settle(self, delivery: Delivery, **values: Any) -> None:
        values["attempts"] = delivery.attempts + 1
        if values["due_at_s"] is None:
            values["ended_at_s"] = time.time()
        change = webhook_deliveries.update().where(webhook_deliveries.c.id == delivery.id).values(values)
        async with self._database.write() as connection:
            await connection.execute(change)


_SEES = sa.case(
    (users.c.disabled.is_(True), Sees.NOTHING.value),
    (users.c.role == Role.SUBMITTER, Sees.OWN.value),
    else_=Sees.ALL.value,
)
_SEEN = sa.select(webhooks, _SEES.label("sees")).outerjoin(users, users.c.name == webhooks.c.owner)


def _pending(webhook_id: str, payload: Mapping[str, JsonValue], now: float) -> dict[str, Any]:
    return {
        "id": new_id(),
        "webhook_id": webhook_id,
        "state": DeliveryState.PENDING,
        "payload": payload,
        "due_at_s": now,
        "created_at_s": now,
    }


def _of_alarm(alarm: Alarm) -> dict[str, JsonValue]:
    """What is told of an alarm that was raised before: as of its newest event."""
    when: dict[str, JsonValue] = {"event_id": alarm.id, "at_s": alarm.raised_at_s}
    named: dict[str, JsonValue] = {"subject": alarm.subject, "name": alarm.name, STATE: alarm.state.value}
    return {"type": f"alarm.{alarm.state}", "data": {**when, **alarm.data, **named}}


def _payload(webhook: Webhook, event: Event) -> dict[str, JsonValue] | None:
    """What it is told of an event; None: nothing."""
    if webhook.sees is Sees.NOTHING:
        return None
    if webhook.about is About.ALARMS:
        if webhook.sees is not Sees.ALL or event.kind is not EventKind.ALARM:
            return None
        state = event.data.get(STATE, AlarmState.RAISED.value)
        named: dict[str, JsonValue] = {"subject": event.subject, "name": event.name, STATE: state}
        return {"type": f"alarm.{state}", "data": {**told(event), **named}}
    owner = webhook.owner if webhook.sees is Sees.OWN else None
    chosen = Chosen(name=NAME, labels=webhook.labels, owner=owner)
    if event not in chosen or event.data["state"] not in webhook.states:
        return None
    return {"type": f"task.{event.data['state']}", "data": told(event)}


def _webhook(row: RowMapping) -> Webhook:
    return Webhook(
        id=row["id"],
        owner=row["owner"],
        sees=Sees(row["sees"]),
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
