"""Sends what is due, again and again until it has arrived or is given up."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.events import MAX_EVENTS
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind
from deskhand_platform.client.signature import signed
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import WebhookSettings
from deskhand_platform.task_events import NAME
from deskhand_platform.webhooks.about import About
from deskhand_platform.webhooks.book import Delivery, Webhook, WebhookBook
from deskhand_platform.webhooks.destinations import Refused, resolve

log = logging.getLogger(__name__)
LOOK_S = 0.25
AT_ONCE = 32
"""Requests under way; a receiver that hangs holds up that many at most."""
SAID = 200
"""Characters of a receiver's answer that are kept where it is no."""


class Sender:
    """The one that delivers."""

    def __init__(self, store: Store, settings: WebhookSettings) -> None:
        self._store = store
        self._book = WebhookBook(store.database)
        self._settings = settings
        self._under_way: dict[str, asyncio.Task[None]] = {}
        # no proxy and no redirect: the address that was checked is the one that is asked
        self._http = httpx.AsyncClient(timeout=settings.timeout_s, trust_env=False, follow_redirects=False)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Deliver for the length of the block; what is under way at its end is sent again by the next one."""
        working = asyncio.create_task(self._work())
        try:
            yield
        finally:
            tasks = [working, *self._under_way.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._http.aclose()

    async def _work(self) -> None:
        while True:
            try:
                busy = await self._spread()
                busy |= await self._begin()
            except FlywheelError as error:
                log.warning("webhooks wait for the database: %s", error)
                busy = False
            if not busy:
                await asyncio.sleep(LOOK_S)

    async def _spread(self) -> bool:
        """New events into deliveries; whether there are more."""
        newest = await self._store.last_event_id()
        behind = [one for one in await self._book.list() if one.after_event < newest]
        return any([await self._spread_one(one, newest) for one in behind])

    async def _spread_one(self, webhook: Webhook, newest: int) -> bool:
        if webhook.about is About.ALARMS:
            events = await self._store.events_after(webhook.after_event, kind=EventKind.ALARM)
        else:
            events = await self._store.events_after(webhook.after_event, name=NAME)
        more = len(events) == MAX_EVENTS
        seen = events[-1].id if more else max([newest, *(event.id for event in events[-1:])])
        await self._book.spread(webhook, events, seen)
        return more

    async def _begin(self) -> bool:
        room = AT_ONCE - len(self._under_way)
        due = await self._book.due(room, [*self._under_way]) if room else ()
        for delivery, url, secret in due:
            task = asyncio.create_task(self._deliver(delivery, url, secret))
            self._under_way[delivery.id] = task
            task.add_done_callback(lambda _, id=delivery.id: self._under_way.pop(id))
        return len(due) == room > 0

    async def _deliver(self, delivery: Delivery, url: str, secret: str) -> None:
        reason, hopeless = await self._send(delivery, url, secret)
        try:
            if reason is None:
                await self._book.delivered(delivery)
                return
            tried = delivery.attempts + 1
            pause_s = self._settings.first_pause_s * 2.0 ** min(delivery.attempts, 60)
            due_at_s = time.time() + min(self._settings.longest_pause_s, pause_s)
            over = hopeless or tried >= self._settings.attempts
            await self._book.missed(delivery, reason, None if over else due_at_s)
        except FlywheelError as error:
            log.warning("delivery %s is sent again: %s", delivery.id, error)

    async def _send(self, delivery: Delivery, url: str, secret: str) -> tuple[str | None, bool]:
        """Why it was not taken, None where it was; and whether it never will be."""
        body = json.dumps(dict(delivery.payload), separators=(",", ":")).encode()
        headers = signed(secret, delivery.id, body, int(time.time()))
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                there = await resolve(url, self._settings.networks)
                request = self._http.build_request(
                    "POST",
                    there.url,
                    content=body,
                    headers={**headers, "Host": there.host, "Content-Type": "application/json"},
                    extensions={"sni_hostname": there.name},
                )
                response = await self._http.send(request, stream=True)
                try:
                    said = b""
                    async for chunk in response.aiter_bytes():
                        said += chunk
                        if len(said) > 4 * SAID:
                            break
                finally:
                    await response.aclose()
        except (Refused, InvalidField) as error:
            return str(error), False
        except TimeoutError:
            return f"no answer within {self._settings.timeout_s:g} s", False
        except httpx.HTTPError as error:
            return f"cannot be reached: {error or type(error).__name__}", False
        if response.is_success:
            return None, False
        return (
            f"answered {response.status_code}: {said.decode(errors='replace')[:SAID]}",
            response.status_code == 410,
        )
