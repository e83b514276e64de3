"""Posts every alarm to one address, in order, each until it is taken; a restart goes on where this stood."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import httpx
import sqlalchemy as sa

from deskhand_flywheel.errors import StoreError
from deskhand_flywheel.store import Store
from deskhand_flywheel.tables import events
from deskhand_flywheel.types import EventKind
from deskhand_platform.auth import write_private
from deskhand_platform.settings import Settings

log = logging.getLogger(__name__)
FILE = "alarm-webhook.json"
"""In the home folder: the address, and the last event it took."""
DEADLINE_S = 10.0
LONGEST_PAUSE_S = 300.0
GIVEN_UP_AFTER = 12
"""Attempts of one alarm, then the next one's turn comes: with the pauses, over half an hour."""
POLL_S = 1.0
AT_ONCE = 50


class Webhook:
    """One receiver of alarms."""

    def __init__(self, settings: Settings, store: Store, url: str) -> None:
        self._store, self._url = store, url
        self._file: Path = settings.home / FILE
        self._retry_s = settings.alarms.webhook_retry_s

    async def deliver(self) -> None:
        """Post what comes, for ever; a new address is told of nothing that was before."""
        last_id = self._remembered()
        while True:
            try:
                if last_id is None:
                    last_id = await self._store.last_event_id()
                    self._remember(last_id)
                for event_id, body in await self._after(last_id):
                    await self._post(body)
                    last_id = event_id
                    self._remember(last_id)
            except StoreError as error:
                log.warning("the alarms to be posted could not be read: %s", error)
            await asyncio.sleep(POLL_S)

    async def _after(self, last_id: int) -> list[tuple[int, dict[str, object]]]:
        query = (
            sa.select(events)
            .where(events.c.id > last_id, events.c.kind == EventKind.ALARM.value)
            .order_by(events.c.id)
            .limit(AT_ONCE)
        )
        async with self._store.database.read() as connection:
            rows = (await connection.execute(query)).all()
        return [
            (
                row.id,
                {
                    "id": row.id,
                    "at_s": row.at_s,
                    "subject": row.subject,
                    "name": row.name,
                    "state": "raised",
                    **json.loads(row.data),
                },
            )
            for row in rows
        ]

    async def _post(self, body: dict[str, object]) -> None:
        pause_s = self._retry_s
        async with httpx.AsyncClient(timeout=DEADLINE_S) as http:
            for attempt in range(1, GIVEN_UP_AFTER + 1):
                try:
                    (await http.post(self._url, json=body)).raise_for_status()
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    why = str(error).splitlines()[0] if str(error) else type(error).__name__
                    log.warning("attempt %d: the webhook did not take alarm %s: %s", attempt, body["id"], why)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                else:
                    return
        log.error("alarm %s was given up after %d attempts", body["id"], GIVEN_UP_AFTER)

    def _remembered(self) -> int | None:
        try:
            said = json.loads(self._file.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return int(said["last_id"]) if said.get("url") == self._url else None

    def _remember(self, last_id: int) -> None:
        write_private(self._file, json.dumps({"url": self._url, "last_id": last_id}))
