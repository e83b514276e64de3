"""Pausing rounds and taking them up again, as changes of their rows: each one transaction.

A round that is taken up again begins its next life: a workflow of its own, which passes over the phases that
are done. What a workflow of an earlier life still has to say changes nothing.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.naming import named_in
from deskhand_platform.rounds.book import key_of
from deskhand_platform.states import WorkState
from deskhand_platform.tables import round_phases, rounds

ANEW: dict[str, Any] = {
    "state": WorkState.QUEUED,
    "metrics": {},
    "policy_out": None,
    "reason": None,
    "seconds": None,
    "started_at_s": None,
    "ended_at_s": None,
}
"""A phase as it was before it began. Its `policy_in` stays: of some it is the plan's."""


class RoundControls:
    """Asks rounds to pause, and puts them back in the queue."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pause(self, round_id: int) -> None:
        """One that waits is paused at once, one that runs as soon as its run has stopped.

        Raises:
            NotFound: no such round.
            WrongState: it neither waits nor runs, or is being cancelled.
        """
        async with self._database.write() as connection:
            state, row = await _state(connection, round_id)
            if state not in (WorkState.QUEUED, WorkState.RUNNING):
                raise WrongState(
                    f"round {round_id} is {state}: only one that waits or runs can be paused", state=state
                )
            if row["cancel_requested"]:
                raise WrongState(
                    f"round {round_id} is {state} and being cancelled: it cannot be paused", state=state
                )
            paused = WorkState.PAUSED if state is WorkState.QUEUED else state
            await _change(connection, round_id, pause_requested=True, state=paused)

    async def resume(self, round_id: int) -> None:
        """Back into the queue: it goes on at the step where it was.

        Raises:
            NotFound: no such round.
            WrongState: it is not paused, or not yet.
        """
        async with self._database.write() as connection:
            state, row = await _state(connection, round_id)
            if state is not WorkState.PAUSED:
                still = " and still stopping to pause" if row["pause_requested"] and not state.over else ""
                raise WrongState(
                    f"round {round_id} is {state}{still}: only a paused one can be resumed", state=state
                )
            await _again(connection, round_id, row)

    async def take_up(self, round_id: int, life: int) -> None:
        """Back into the queue, one that waits or runs and whose workflow of that life is over; what somebody
        asked of it holds. Any other stays as it is.
        """
        stuck = (
            rounds.c.id == round_id,
            rounds.c.life == life,
            rounds.c.state.in_([WorkState.QUEUED, WorkState.RUNNING]),
        )
        async with self._database.write() as connection:
            await connection.execute(
                sa.update(rounds).where(*stuck).values(state=WorkState.QUEUED, life=life + 1)
            )

    async def retry(self, round_id: int, phase: str | None, *, afresh: bool) -> None:
        """Back into the queue, from a phase on: one that was done is done anew, as are those after it; one
        that was not goes on from its checkpoint.

        Args:
            phase: where to begin; None: the first that is not done.
            afresh: begin that phase anew in any case.

        Raises:
            NotFound: no such round, or it has no such phase.
            WrongState: it waits or runs, a phase before that one is not done, or all are, and none is named;
                or it never began, and one is.
        """
        async with self._database.write() as connection:
            state, row = await _state(connection, round_id)
            if state in (WorkState.QUEUED, WorkState.RUNNING):
                raise WrongState(f"round {round_id} is {state}: pause or cancel it, then retry", state=state)
            ordered = sa.select(round_phases).where(round_phases.c.round_id == round_id)
            rows = (await connection.execute(ordered.order_by(round_phases.c.position))).mappings().all()
            names = [str(one["name"]) for one in rows]
            undone = next((at for at, one in enumerate(rows) if one["state"] != WorkState.DONE), None)
            if phase is not None and not names:
                raise WrongState(
                    f"round {round_id} is {state} and never began: retry it without a phase", state=state
                )
            if phase is not None and phase not in names:
                with named_in("phase"):
                    raise NotFound("phase", phase, names)
            if phase is None and undone is None and rows:
                raise WrongState(
                    f"round {round_id} is {state}, every phase done: name the one to retry", state=state
                )
            first = (undone or 0) if phase is None else names.index(phase)
            if undone is not None and first > undone:
                left = f"{names[undone]} is {rows[undone]['state']}"
                raise WrongState(
                    f"round {round_id} cannot begin with {phase}: {left}, and comes before it", state=state
                )
            anew = afresh
            for one in rows[first:]:
                # what a later one had begun was of what this one had made
                anew = anew or one["state"] == WorkState.DONE
                where = (round_phases.c.round_id == round_id, round_phases.c.name == one["name"])
                attempt = one["attempt"] + (anew and one["run_id"] is not None)
                values = {**ANEW, "attempt": attempt}
                await connection.execute(sa.update(round_phases).where(*where).values(values))
            await _again(connection, round_id, row)


async def _state(connection: AsyncConnection, round_id: int) -> tuple[WorkState, Any]:
    # locked: of two who ask at once in PostgreSQL, the second hears what the first has made of it
    query = sa.select(rounds).where(rounds.c.id == round_id).with_for_update()
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise NotFound("round", round_id)
    return WorkState(row["state"]), row


async def _again(connection: AsyncConnection, round_id: int, row: Any) -> None:
    again: dict[str, Any] = {
        "state": WorkState.QUEUED,
        "life": row["life"] + 1,
        "pause_requested": False,
        "cancel_requested": False,
        "reason": None,
        "policy_out": None,
        "promoted": None,
        "ended_at_s": None,
    }
    key = row["key"] or key_of(row["config"])
    try:
        async with connection.begin_nested():
            await _change(connection, round_id, key=key, **again)
    except IntegrityError:  # it went when the round was over, and another of its config has it by now
        await _change(connection, round_id, **again)


async def _change(connection: AsyncConnection, round_id: int, **values: Any) -> None:
    await connection.execute(sa.update(rounds).where(rounds.c.id == round_id).values(values))
