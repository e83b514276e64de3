"""GET /v1/tasks/events: submitted tasks as they go on, as server-sent events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from deskhand_flywheel.types import Event
from deskhand_platform.api.deps import Feed, Have, Label, StillIn, Who, labelled
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.api.result_models import TaskEvent
from deskhand_platform.api.routes.events import MAX_SUBJECTS, After, LastEventId, framed, streaming
from deskhand_platform.feed import Chosen
from deskhand_platform.task_events import NAME, subject, told

router = APIRouter(tags=["tasks"])


@router.get(
    "/tasks/events",
    response_class=StreamingResponse,
    responses={200: {"model": TaskEvent, "content": {"text/event-stream": {}}}, 410: {"model": ErrorAnswer}},
)
async def stream_task_events(
    request: Request,
    have: Have,
    who: Who,
    still_in: StillIn,
    feed: Feed,
    id: Annotated[
        list[str] | None, Query(max_length=MAX_SUBJECTS, description="only of these submitted tasks")
    ] = None,
    label: Label = None,
    after: After = 0,
    follow: Annotated[bool, Query(description="false: end when all that is there has been sent")] = True,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """Every change of a task's state: each event's `data` is a `TaskEvent`, its `event` is "task".

    What happened before comes first, so a task that is over already is told of as well; its last event has
    the result. A stream is resumed by `Last-Event-ID`: nothing is left out and nothing comes twice, or it is
    refused (410), where it would go on before what is kept (30 days, if nothing else is set). Submitters are
    told of their own.
    """
    subjects = None if id is None else [subject(each) for each in id]
    chosen = Chosen(subjects=subjects, name=NAME, labels=labelled(label or []), owner=who.only)
    begin = after if last_event_id is None else last_event_id
    return await streaming(request, have, still_in, feed, chosen, begin, follow, _frame)


def _frame(event: Event) -> str:
    return framed(event.id, "task", TaskEvent.model_validate(told(event)))
