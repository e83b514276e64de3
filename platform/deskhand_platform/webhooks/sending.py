"""Sends what is due, again and again until it has arrived or is given up."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

import httpx

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.events import MAX_EVENTS
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import EventKind
from deskhand_platform.background import log_and_continue
from deskhand_platform.client.signature import signed
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import WebhookSettings
from deskhand_platform.task_events import NAME
from deskhand_platform.webhooks.about import About
from deskhand_platform.webhooks.book import Delivery, Due, Webhook, WebhookBook
from deskhand_platform.webhooks.destinations import Refused, resolve

log = logging.getLogger(__name__)
LOOK_S = 1.0
AT_ONCE, OF_ONE = 96, 32
"""Requests under way, and those of one owner: whoever's receivers hang holds up nobody else."""
SAID = 200
"""Characters of a receiver's answer that are kept where it is no."""


class Sender:
    """The one that delivers."""

    def __init__(self, store: Store, settings: WebhookSettings) -> None:
        self._store = store
        self._book = WebhookBook(store.database)
        self._settings = settings
        self._under_way: dict[str, tuple[str, asyncio.Task[None]]] = {}
        """By the delivery's id; with the owner."""
        # no proxy and no redirect: the address that was checked is the one that is asked. No connection is
        # kept: the pool knows them by address, and a certificate is checked for the name asked first alone
        self._http = httpx.AsyncClient(
            timeout=settings.timeout_s,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Deliver for the length of the block; what is under way at its end is sent again by the next one."""
        working = asyncio.create_task(self._work())
        try:
            yield
        finally:
            tasks = [working, *(task for _, task in self._under_way.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._http.aclose()

    async def _work(self) -> None:
        while True:
            busy = False
            async with log_and_continue("webhooks wait: what is due could not be found out", FlywheelError):
                busy = any([await self._spread(), await self._begin()])
            if not busy:
                await asyncio.sleep(LOOK_S)

    async def _spread(self) -> bool:
        """New events into deliveries; whether there are more."""
        newest = await self._store.last_event_id()
        behind = sorted((one for one in await self._book.list() if one.after_event < newest), key=_place)
        groups = [(*place, [*some]) for place, some in groupby(behind, key=_place)]
        return any([await self._spread_some(*group, newest) for group in groups])

    async def _spread_some(self, about: About, after: int, told: Sequence[Webhook], newest: int) -> bool:
        if about is About.ALARMS:
            events = await self._store.events_after(after, kind=EventKind.ALARM)
        else:
            events = await self._store.events_after(after, name=NAME)
        more = len(events) == MAX_EVENTS
        seen = events[-1].id if more else max([newest, *(event.id for event in events[-1:])])
        await self._book.spread(after, told, events, seen)
        return more

    async def _begin(self) -> bool:
        room = AT_ONCE - len(self._under_way)
        busy = Counter(owner for owner, _ in self._under_way.values())
        full = [owner for owner, count in busy.items() if count >= OF_ONE]
        due = await self._book.due(room, [*self._under_way], full) if room else ()
        for one in due:
            if busy[one.owner] >= OF_ONE:
                continue
            busy[one.owner] += 1
            id, task = one.delivery.id, asyncio.create_task(self._deliver(one))
            self._under_way[id] = one.owner, task
            task.add_done_callback(lambda _, id=id: self._under_way.pop(id))
        return len(due) == room > 0

    async def _deliver(self, due: Due) -> None:
        delivery = due.delivery
        try:
            reason, hopeless = await self._send(delivery, due.url, due.secret)
        except Exception as error:  # a bug: a try like any other, or it would be sent again for ever
            log.exception("delivery %s could not be sent", delivery.id)
            reason, hopeless = f"could not be sent: {type(error).__name__}: {error}", False
        over = hopeless or delivery.attempts + 1 >= self._settings.attempts
        due_at_s = None if over else time.time() + self._pause_s(delivery.attempts)
        what = f"delivery {delivery.id} is noted later, and is sent again where this ends before"
        for noted in itertools.count():  # under way until then: nothing else would keep it from being sent
            async with log_and_continue(what, FlywheelError):
                if reason is None:
                    await self._book.delivered(delivery)
                else:
                    await self._book.missed(delivery, reason, due_at_s)
                return
            await asyncio.sleep(self._pause_s(noted))

    def _pause_s(self, before: int) -> float:
        """After a failure, with so many before it."""
        return min(self._settings.longest_pause_s, self._settings.first_pause_s * 2.0 ** min(before, 60))

    async def _send(self, delivery: Delivery, url: str, secret: str) -> tuple[str | None, bool]:
        """Why it was not taken, None where it was; and whether it never will be."""
        body = json.dumps(dict(delivery.payload), separators=(",", ":")).encode()
        headers = {
            **signed(secret, delivery.id, body, int(time.time())),
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        }
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                there = await resolve(url, self._settings.networks)
                request = self._http.build_request(
                    "POST",
                    there.url,
                    content=body,
                    headers={**headers, "Host": there.host},
                    extensions={"sni_hostname": there.name},
                )
                response = await self._http.send(request, stream=True)
                try:
                    said = b""
                    async for chunk in response.aiter_raw():  # a few bytes may unpack to gigabytes
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


def _place(webhook: Webhook) -> tuple[About, int]:
    """What it is told of, and how far that is: those of one place are told of the same events."""
    return webhook.about, webhook.after_event
