"""/v1/trajectories, their steps, scores and replay, and /v1/images."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool

from deskhand_platform.api.chosen import Chosen
from deskhand_platform.api.deps import Cursor, Have, Limit
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.api.recorded import detail, image_type, score_model, step_model, summary
from deskhand_platform.api.trajectory_models import ScoreModel, StepPage, TrajectoryDetail, TrajectoryPage
from deskhand_platform.errors import InvalidField
from deskhand_platform.thumbnails import Thumbnails

router = APIRouter(tags=["trajectories"])
MAX_OFFSET = 1_000_000
FOREVER = "private, max-age=31536000, immutable"
REPLAY_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
"""A replay is one file with everything in it; it may run its own script and reach nothing."""


@router.get("/trajectories")
async def list_trajectories(
    have: Have, chosen: Chosen, cursor: Cursor = None, limit: Limit = 50
) -> TrajectoryPage:
    """Trajectories, newest first; submitters see those of their tasks."""
    found = await have.store.trajectories(chosen, cursor=cursor, limit=limit)
    return TrajectoryPage(
        items=[summary(one) for one in found.items],
        next_cursor=found.next_cursor,
        unreadable=found.unreadable,
    )


@router.get("/trajectories/{id}")
async def get_trajectory(have: Have, id: str) -> TrajectoryDetail:
    """One trajectory, without its steps."""
    return detail(await have.store.summary(id), await have.store.end_of(id))


@router.get("/trajectories/{id}/steps")
async def list_steps(
    have: Have,
    id: str,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET, description="index of the first one")] = 0,
    limit: Limit = 50,
) -> StepPage:
    """Some steps in order, and how many there are."""
    found = await have.store.steps(id, offset=offset, limit=limit)
    scores = await have.store.scores(id, steps=range(offset, offset + limit))
    return StepPage(
        items=[step_model(step, scores) for step in found.items], offset=offset, total=found.total
    )


@router.get("/trajectories/{id}/scores")
async def list_scores(have: Have, id: str) -> list[ScoreModel]:
    """Every score of every step, with who gave it."""
    await have.store.summary(id)
    return [score_model(score) for score in await have.store.scores(id)]


@router.get(
    "/trajectories/{id}/replay.html",
    response_class=Response,
    responses={
        200: {"content": {"text/html": {}}},
        413: {"model": ErrorAnswer, "description": "its pictures are more than one page holds"},
    },
)
async def get_replay(have: Have, id: str) -> HTMLResponse:
    """The episode as one self-contained page."""
    html = await have.transfers.replay(have.store, id)
    return HTMLResponse(html, headers={"Content-Security-Policy": REPLAY_POLICY})


@router.get(
    "/trajectories/{id}/replay.txt",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
)
async def get_replay_text(have: Have, id: str) -> PlainTextResponse:
    """The episode's turns as text: index, reward and reply of each, and what they cost."""
    from deskhand_flywheel.replay import render_text

    text = await run_in_threadpool(render_text, await have.store.trajectory(id))
    # a reply may hold half a surrogate pair, which UTF-8 has no bytes for
    return PlainTextResponse(text.encode(errors="replace"))


@router.get("/images/{digest}", response_class=Response, responses={200: {"content": {"image/*": {}}}})
async def get_image(
    have: Have,
    digest: str,
    width: Annotated[int | None, Query(ge=1, le=640, description="a WebP about so wide, for lists")] = None,
) -> Response:
    """A picture's bytes; it never changes, so it may be kept for ever."""
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise InvalidField("digest", "must be 64 lower-case hex digits")
    if width is None:
        data = await have.store.image(digest)
    else:
        data = await Thumbnails(have.store, have.settings.home / "thumbnails").get(digest, width)
    return Response(data, media_type=image_type(data), headers={"Cache-Control": FOREVER})
