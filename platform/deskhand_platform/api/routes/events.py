"""GET /v1/events: the event table as server-sent events; the row id is the `Last-Event-ID`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from deskhand_flywheel.types import Event
from deskhand_platform.api.deps import Feed, Have, StillIn, Who
from deskhand_platform.api.models import ErrorAnswer, EventModel
from deskhand_platform.api.recorded import plain
from deskhand_platform.api.whole_text import whole_json
from deskhand_platform.errors import NoLongerKept
from deskhand_platform.feed import Chosen, EventFeed
from deskhand_platform.retention import dropped_up_to
from deskhand_platform.services import Services
from deskhand_platform.task_events import PREFIX

router = APIRouter(tags=["events"])
LOOK_S = 1.0
"""How often a quiet stream sees whether it is still wanted."""
HEARTBEAT_S = 10.0
ASK_AGAIN_S = 5.0
"""So long somebody who is shut out, or may see less by now, goes on hearing."""
LARGEST_ID = 2**63 - 1
"""That databases count to."""
After = Annotated[int, Query(ge=0, le=LARGEST_ID, description="where to begin when no Last-Event-ID is sent")]
LastEventId = Annotated[int | None, Header(ge=0, le=LARGEST_ID)]
BREAKS = {mark: f"\\u{mark:04x}" for mark in (0x85, 0x2028, 0x2029)}
"""Line breaks that JSON leaves in a string, as it may write them too: some programs cut a stream there."""
MAX_SUBJECTS = 100
"""In one stream: browsers open six connections to a server at most, so a page follows all it shows in one."""


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"model": EventModel, "content": {"text/event-stream": {}}}, 410: {"model": ErrorAnswer}},
)
async def stream_events(
    request: Request,
    have: Have,
    who: Who,
    still_in: StillIn,
    feed: Feed,
    subject: Annotated[
        list[str] | None,
        Query(max_length=MAX_SUBJECTS, description="only events about one of these, e.g. run:round-3-ppo"),
    ] = None,
    after: After = 0,
    follow: Annotated[bool, Query(description="false: end when all that is there has been sent")] = True,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """Each event's `data` is an `EventModel`, its `event` the kind, its `id` the row.

    Ids ascend over all subjects: a stream about several is resumed like one about one. Events of tasks are
    kept for a time; a stream that may hold some and would go on before that is refused (410). With a token
    for some scopes those of tasks need `tasks:read`, and alarms `metrics:read`.
    """
    begin = after if last_event_id is None else last_event_id
    sees = who.scopes
    chosen = Chosen(subjects=subject, tasks="tasks:read" in sees, alarms="metrics:read" in sees)
    return await streaming(request, have, still_in, feed, chosen, begin, follow, frame)


async def streaming(
    request: Request,
    have: Services,
    still_in: Callable[[], Awaitable[bool]],
    feed: EventFeed,
    chosen: Chosen,
    last_id: int,
    follow: bool,
    frame: Callable[[Event], str],
) -> StreamingResponse:
    """The chosen events above an id as they come, each in its frame.

    Raises:
        NoLongerKept: events above it may have been dropped; from the very beginning on there is what is kept.
    """
    of_tasks = chosen.subjects is None or any(one.startswith(PREFIX) for one in chosen.subjects)
    dropped = await dropped_up_to(have.store.database) if of_tasks and chosen.tasks else 0
    if 0 < last_id < dropped:
        raise NoLongerKept(
            f"events of tasks up to {dropped} are no longer kept, and some after {last_id} may have been "
            "among them; begin again without Last-Event-ID, and GET /v1/tasks says how tasks stand"
        )
    return StreamingResponse(
        _stream(request, have, still_in, feed, chosen, last_id, dropped, follow, frame),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(
    request: Request,
    have: Services,
    still_in: Callable[[], Awaitable[bool]],
    feed: EventFeed,
    chosen: Chosen,
    last_id: int,
    dropped: int,
    follow: bool,
    frame: Callable[[Event], str],
) -> AsyncGenerator[str]:
    yield "retry: 1000\n\n"
    if last_id < dropped:
        yield f": events of tasks up to {dropped} are no longer kept\n\n"
    told_s = asked_at_s = time.monotonic()
    async with feed.following():
        while not have.stopping.is_set() and not await request.is_disconnected():
            if time.monotonic() - asked_at_s > ASK_AGAIN_S:
                asked_at_s = time.monotonic()
                if not await still_in():
                    return
            events, seen = await feed.after(last_id, chosen)
            if events:
                told_s = time.monotonic()
                yield "".join(map(frame, events))
            if seen > last_id:
                last_id = seen
                continue
            if not follow:
                return
            await feed.news(LOOK_S)
            if time.monotonic() - told_s >= HEARTBEAT_S:
                told_s = time.monotonic()
                # with the place a broken stream goes on from, or it would seem to be as old as its last event
                yield f": still here\nid: {last_id}\n\n"


def frame(event: Event) -> str:
    """An event in the wire form."""
    body = EventModel(
        id=event.id,
        at_s=event.at_s,
        subject=event.subject,
        kind=event.kind,
        name=event.name,
        data=plain(event.data),
    )
    return framed(event.id, event.kind, body)


def framed(id: int, kind: str, body: BaseModel) -> str:
    """An event of a stream; its JSON holds no line break, not even one that only some programs see."""
    data = whole_json(body.model_dump(mode="json")).decode().translate(BREAKS)
    return f"id: {id}\nevent: {kind}\ndata: {data}\n\n"
