"""/v1/trajectories/{id}/… and /v1/notes: people mark steps and episodes, and think aloud about them.

A mark's address names whose it is: everybody reads all of them and writes their own.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from deskhand_flywheel.annotations import annotator_of
from deskhand_flywheel.review_types import DisagreementKind
from deskhand_flywheel.types import Note, OutcomeScore, StepScore
from deskhand_platform.api.annotation_models import Annotations, MarkBody, MarkModel, NoteBody, NoteModel
from deskhand_platform.api.deps import Have, User
from deskhand_platform.errors import Forbidden

router = APIRouter(tags=["annotations"])

Index = Annotated[int, Path(ge=0, le=2**31 - 1, description="of the step")]


@router.get("/trajectories/{id}/annotations")
async def list_annotations(have: Have, id: str) -> Annotations:
    """What everybody marked and noted."""
    await have.store.summary(id)
    scores = [*await have.store.outcome_scores(id), *await have.store.scores(id)]
    return Annotations(
        marks=[_mark(score) for score in scores if annotator_of(score.scorer) is not None],
        notes=[_note(note) for note in await have.store.notes(id)],
    )


@router.put("/trajectories/{id}/steps/{index}/marks/{annotator}")
async def mark_step(
    have: Have, user: User, id: str, index: Index, annotator: str, body: MarkBody
) -> MarkModel:
    """Mark a step good or bad, or change one's mark."""
    _own(user, annotator)
    return await _marked(have, id, index, user, body)


@router.delete("/trajectories/{id}/steps/{index}/marks/{annotator}", status_code=204)
async def unmark_step(have: Have, user: User, id: str, index: Index, annotator: str) -> None:
    """Take one's mark back."""
    _own(user, annotator)
    await _unmarked(have, id, index, user)


@router.put("/trajectories/{id}/marks/{annotator}")
async def mark_trajectory(have: Have, user: User, id: str, annotator: str, body: MarkBody) -> MarkModel:
    """Say whether the whole episode did what was asked, or change what one said."""
    _own(user, annotator)
    return await _marked(have, id, None, user, body)


@router.delete("/trajectories/{id}/marks/{annotator}", status_code=204)
async def unmark_trajectory(have: Have, user: User, id: str, annotator: str) -> None:
    """Take one's mark of the episode back."""
    _own(user, annotator)
    await _unmarked(have, id, None, user)


@router.post("/trajectories/{id}/steps/{index}/notes", status_code=201)
async def write_note(have: Have, user: User, id: str, index: Index, body: NoteBody) -> NoteModel:
    """Attach a note to a step; its episode may still run."""
    return _note(await have.store.write_note(id, index, user, body.text))


@router.put("/notes/{id}")
async def edit_note(have: Have, user: User, id: str, body: NoteBody) -> NoteModel:
    """Change one's note."""
    return _note(await have.store.edit_note(id, user, body.text))


@router.delete("/notes/{id}", status_code=204)
async def delete_note(have: Have, user: User, id: str) -> None:
    """Take one's note back."""
    await have.store.delete_note(id, user)


def _own(user: str, annotator: str) -> None:
    if annotator != user:
        raise Forbidden(f"you are {user}: the marks of {annotator} are theirs to change")


async def _marked(have: Have, id: str, index: int | None, user: str, body: MarkBody) -> MarkModel:
    score = await have.store.mark(id, index, user, body.score, body.reason)
    await _ask_a_third(have, id)
    return _mark(score)


async def _unmarked(have: Have, id: str, index: int | None, user: str) -> None:
    await have.store.unmark(id, index, user)
    await _ask_a_third(have, id)


async def _ask_a_third(have: Have, id: str) -> None:
    """If two people contradict each other now; of what others said a mark changes nothing."""
    await have.store.find_disagreements_of(id, keep_standing=True, kinds=(DisagreementKind.PEOPLE,))


def _mark(score: StepScore | OutcomeScore) -> MarkModel:
    return MarkModel(
        annotator=annotator_of(score.scorer) or score.scorer,
        step_index=score.step_index if isinstance(score, StepScore) else None,
        score=score.score,
        reason=score.rationale or "",
    )


def _note(note: Note) -> NoteModel:
    return NoteModel(
        id=note.id,
        trajectory_id=note.trajectory_id,
        step_index=note.step_index,
        author=note.author,
        text=note.text,
        created_at_s=note.created_at_s,
        edited_at_s=note.edited_at_s,
    )
