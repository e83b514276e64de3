"""/v1/trajectories/{id}/…: one step in full, and one figure of every step."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from deskhand_flywheel.errors import UnknownStep
from deskhand_platform.api.deps import Have
from deskhand_platform.api.step_inside import inside
from deskhand_platform.api.step_models import CurvesModel, StepInside

router = APIRouter(tags=["trajectories"])

Index = Annotated[int, Path(ge=0, le=1_000_000, description="of the step")]


@router.get("/trajectories/{id}/steps/{index}/inside")
async def get_step_inside(have: Have, id: str, index: Index) -> StepInside:
    """What the model was shown for a step and what it said, to the token."""
    page = await have.store.steps(id, offset=index, limit=1)
    if not page.items:
        raise UnknownStep(f"trajectory {id} has no step {index}")
    return await inside(have.store, page.items[0], await have.store.notes_of(id))


@router.get("/trajectories/{id}/curves")
async def get_curves(have: Have, id: str) -> CurvesModel:
    """Reward, value, scores and advantage of every step, however many there are."""
    await have.store.summary(id)
    curves = await have.store.step_curves(id)
    count = len(curves.rewards)
    scores: dict[str, list[float | None]] = {}
    for score in await have.store.scores(id):
        _put(scores, score.scorer, score.step_index, score.score, count)
    advantages: dict[str, list[float | None]] = {}
    for value in await have.store.step_values(trajectory_ids=[id]):
        _put(advantages, value.labeller, value.step_index, value.after - value.before, count)
    return CurvesModel(
        rewards=list(curves.rewards), values=list(curves.values), scores=scores, advantages=advantages
    )


def _put(lines: dict[str, list[float | None]], name: str, index: int, figure: float, count: int) -> None:
    line = lines.setdefault(name, [None] * count)
    if index < count:
        line[index] = figure
