"""What people say of recorded episodes: marks, which are scores of theirs, and notes.

A mark is a score of the scorer "human:NAME", from 0 (bad) to 1 (good), with the reason as its rationale: one
of a person for each step, and one for the whole episode. So whatever reads scores reads marks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.ids import new_id
from deskhand_flywheel import tables
from deskhand_flywheel.errors import (
    NotTheirs,
    StillRunning,
    UnknownAnnotation,
    UnknownStep,
)
from deskhand_flywheel.outcome_scores import OutcomeScores
from deskhand_flywheel.parts import checked, column_text
from deskhand_flywheel.recording import unknown
from deskhand_flywheel.types import HUMAN, Note, OutcomeScore, StepScore


def scorer_of(annotator: str) -> str:
    """The name under which a person's marks stand among the scores."""
    return f"{HUMAN}:{annotator}"


def annotator_of(scorer: str) -> str | None:
    """Whose marks they are; None where the scorer is no person."""
    kind, _, name = scorer.partition(":")
    return name if kind == HUMAN else None


class Annotations(OutcomeScores):
    """Marks and notes."""

    async def mark(
        self, trajectory_id: str, step_index: int | None, annotator: str, score: float, reason: str = ""
    ) -> StepScore | OutcomeScore:
        """Mark a step of an episode that has ended, or with no index the episode; again: change the mark.

        Raises:
            InvalidScore: it is not from 0 to 1.
            UnknownTrajectory, UnknownStep: there is none.
            StillRunning: the episode has not ended: what a step was good for is not known yet.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        scorer, rationale = scorer_of(annotator), column_text(reason) or None
        score = checked(score, by=scorer)
        table, keys = _marks(trajectory_id, step_index, scorer)
        row = {**keys, "score": score, "rationale": rationale, "scored_at_s": time.time()}
        insert = self.insert_or_replace(table, ("score", "rationale", "scored_at_s"))

        async def write(connection: AsyncConnection) -> None:
            await _must_be(connection, trajectory_id, step_index, ended=True)
            await connection.execute(insert, row)

        await self._writer.submit(write)
        if step_index is None:
            return OutcomeScore(trajectory_id=trajectory_id, score=score, scorer=scorer, rationale=rationale)
        return StepScore(
            trajectory_id=trajectory_id,
            step_index=step_index,
            score=score,
            scorer=scorer,
            rationale=rationale,
        )

    async def unmark(self, trajectory_id: str, step_index: int | None, annotator: str) -> None:
        """Take a mark back.

        Raises:
            UnknownAnnotation: there is none.
            StoreUnavailable, StoreClosed: nothing was changed.
        """
        table, keys = _marks(trajectory_id, step_index, scorer_of(annotator))

        async def write(connection: AsyncConnection) -> None:
            of_this = [table.c[name] == value for name, value in keys.items()]
            if (await connection.execute(delete(table).where(*of_this))).rowcount == 0:
                what = "the episode" if step_index is None else f"step {step_index}"
                raise UnknownAnnotation(f"{annotator} has not marked {what} of trajectory {trajectory_id!r}")

        await self._writer.submit(write)

    async def write_note(self, trajectory_id: str, step_index: int, author: str, text: str) -> Note:
        """Attach a note to a recorded step, whether its episode has ended or not.

        Raises:
            UnknownTrajectory, UnknownStep: there is none.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        note = Note(
            id=new_id(),
            trajectory_id=trajectory_id,
            step_index=step_index,
            author=author,
            text=column_text(text),
            created_at_s=time.time(),
        )
        row = _row(note)

        async def write(connection: AsyncConnection) -> None:
            await _must_be(connection, trajectory_id, step_index)
            await connection.execute(tables.notes.insert().values(row))

        await self._writer.submit(write)
        return note

    async def add_notes(self, notes: Iterable[Note]) -> None:
        """Keep notes that were written elsewhere; one whose id is here already stays as it is.

        Raises:
            UnknownTrajectory: one is on a step that is not in the store; none was kept.
            StorageFull, StoreUnavailable, StoreClosed: none was kept.
        """
        rows = [_row(replace(note, text=column_text(note.text))) for note in notes]
        await self.keep_all(self.insert_new(tables.notes), rows, of="a note is on a step")

    async def edit_note(self, note_id: str, author: str, text: str) -> Note:
        """Change what one's note says.

        Raises:
            UnknownAnnotation: there is none of that id.
            NotTheirs: it is another person's.
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """
        table = tables.notes
        values = {"text": column_text(text), "edited_at_s": time.time()}

        async def write(connection: AsyncConnection) -> Note:
            await _must_be_theirs(connection, note_id, author)
            of_this = table.c.id == note_id
            await connection.execute(update(table).where(of_this).values(values))
            return Note(**(await connection.execute(select(table).where(of_this))).mappings().one())

        return await self._writer.submit(write)

    async def delete_note(self, note_id: str, author: str) -> None:
        """Take one's note back.

        Raises:
            As `edit_note`.
        """

        async def write(connection: AsyncConnection) -> None:
            await _must_be_theirs(connection, note_id, author)
            await connection.execute(delete(tables.notes).where(tables.notes.c.id == note_id))

        await self._writer.submit(write)

    async def notes(self, trajectory_id: str) -> tuple[Note, ...]:
        """Notes on one episode, by step and time; empty when there are none."""
        table = tables.notes
        query = select(table).where(table.c.trajectory_id == trajectory_id)
        async with self.database.read() as connection:
            rows = (await connection.execute(query.order_by(table.c.step_index, table.c.id))).mappings()
            return tuple(Note(**row) for row in rows)


def _row(note: Note) -> dict[str, Any]:
    return {name: getattr(note, name) for name in Note.__dataclass_fields__}


def _marks(trajectory_id: str, step_index: int | None, scorer: str) -> tuple[Table, dict[str, str | int]]:
    """The table of such marks, and the key of this one."""
    keys: dict[str, str | int] = {"trajectory_id": trajectory_id, "scorer": scorer}
    if step_index is None:
        return tables.outcome_scores, keys
    return tables.scores, {**keys, "step_index": step_index}


async def _must_be(
    connection: AsyncConnection, trajectory_id: str, step_index: int | None, *, ended: bool = False
) -> None:
    table, steps = tables.trajectories, tables.steps
    query = select(table.c.end.is_not(None).label("ended")).where(table.c.id == trajectory_id)
    row = (await connection.execute(query)).first()
    if row is None:
        raise unknown(trajectory_id)
    if step_index is not None:
        of_this: list[ColumnElement[bool]] = [
            steps.c.trajectory_id == trajectory_id,
            steps.c.step_index == step_index,
        ]
        if not await connection.scalar(select(exists().where(*of_this))):
            raise UnknownStep(f"trajectory {trajectory_id} has no step {step_index}")
    if ended and not row.ended:
        raise StillRunning(
            f"trajectory {trajectory_id} has not ended: mark it afterwards (notes can be written now); "
            "where its process died, `deskhand flywheel fsck --repair` closes it"
        )


async def _must_be_theirs(connection: AsyncConnection, note_id: str, author: str) -> None:
    table = tables.notes
    found = await connection.scalar(select(table.c.author).where(table.c.id == note_id))
    if found is None:
        raise UnknownAnnotation(f"no note {note_id!r}")
    if found != author:
        raise NotTheirs(f"the note is {found}'s: only they can change it")
