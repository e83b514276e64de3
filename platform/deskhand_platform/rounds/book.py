"""The rounds and phases tables: what a round is, how far it is, what came of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.exc import IntegrityError

from deskhand_flywheel.database import Database, in_chunks
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.rounds.config import RoundConfig, as_json
from deskhand_platform.rounds.plan import PhasePlan
from deskhand_platform.states import WorkState
from deskhand_platform.tables import promotions, round_phases, rounds
from deskhand_sandbox.types import JsonValue


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseRecord:
    """One phase of a round."""

    position: int
    name: str
    """Unique in its round."""
    kind: str
    state: WorkState
    run_id: str | None
    """None for phases that are no run."""
    policy_in: str | None
    policy_out: str | None
    metrics: Mapping[str, JsonValue]
    reason: str | None
    seconds: float | None
    """Wall clock of the phase's run, earlier lives included."""
    started_at_s: float | None
    ended_at_s: float | None
    attempt: int = 0
    """How often it was done anew before."""

    def run_of(self, round_id: int) -> str:
        """The id of the run that does it."""
        return f"round-{round_id}-{self.name}" + (f"-{self.attempt + 1}" if self.attempt else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundRecord:
    """One round, phases included."""

    id: int
    preset: str
    config: Mapping[str, JsonValue]
    """As `round_config` reads it; an old round's may be of an older form."""
    state: WorkState
    reason: str | None
    """Why it failed or was cancelled, or why nothing was promoted."""
    cancel_requested: bool
    policy_in: str | None
    policy_out: str | None
    promoted: bool | None
    """None until decided."""
    created_at_s: float
    started_at_s: float | None
    ended_at_s: float | None
    phases: tuple[PhaseRecord, ...]
    pause_requested: bool = False
    """Paused, or stopping to be."""
    life: int = 0
    """How often it was taken up again."""


OF_CONFIG = "config:"
"""How a key begins that was made of the config: it goes when its round is over."""


def key_of(config: Mapping[str, JsonValue]) -> str:
    """Under which there is one round of a config that is not over."""
    return OF_CONFIG + hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


class RoundBook:
    """Reads and writes rounds."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, preset: str, config: RoundConfig, key: str | None = None) -> tuple[int, bool]:
        """A round that waits; its number, and whether it is new.

        Args:
            key: under which a second call gives the same round, for good. Without one, a call with an equal
                config gives the round there is, until that is over.
        """
        values = as_json(config)
        kept = key_of(values) if key is None else f"key:{key}"
        row = {
            "preset": preset,
            "config": values,
            "state": WorkState.QUEUED,
            "created_at_s": time.time(),
            "key": kept,
        }
        there = sa.select(rounds.c.id).where(rounds.c.key == kept)
        try:
            async with self._database.write() as connection:
                found = (await connection.execute(there)).scalar()
                if found is not None:
                    return int(found), False
                result = await connection.execute(sa.insert(rounds).values(row).returning(rounds.c.id))
                return int(result.scalar_one()), True
        except IntegrityError:
            # another transaction was faster, in a database that lets two in at a time
            return await self.create(preset, config, key)

    async def with_key(self, key: str) -> int | None:
        """The round that was begun under a key; None: none was."""
        query = sa.select(rounds.c.id).where(rounds.c.key == f"key:{key}")
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar()

    async def get(self, round_id: int) -> RoundRecord:
        """One round.

        Raises:
            NotFound: no such round.
        """
        async with self._database.read() as connection:
            row = (
                (await connection.execute(sa.select(rounds).where(rounds.c.id == round_id)))
                .mappings()
                .first()
            )
            if row is None:
                raise NotFound("round", round_id)
            parts = (
                await connection.execute(
                    sa.select(round_phases)
                    .where(round_phases.c.round_id == round_id)
                    .order_by(round_phases.c.position)
                )
            ).mappings()
            return _round(row, [_phase(part) for part in parts])

    async def list(self, *, before: int | None = None, limit: int = 50) -> tuple[RoundRecord, ...]:
        """Rounds, newest first; `before` is the number of the last one seen."""
        query = sa.select(rounds).order_by(rounds.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(rounds.c.id < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
            parts = (
                await connection.execute(
                    sa.select(round_phases)
                    .where(round_phases.c.round_id.in_([row["id"] for row in rows]))
                    .order_by(round_phases.c.round_id, round_phases.c.position)
                )
            ).mappings()
            phases: dict[int, list[PhaseRecord]] = {row["id"]: [] for row in rows}
            for part in parts:
                phases[part["round_id"]].append(_phase(part))
        return tuple(_round(row, phases[row["id"]]) for row in rows)

    async def phases(self, round_ids: Iterable[int]) -> tuple[tuple[int, PhaseRecord], ...]:
        """Every phase of some rounds, each with its round's number; none of rounds that there are not."""
        found: list[tuple[int, PhaseRecord]] = []
        async with self._database.read() as connection:
            for ids in in_chunks(sorted(set(round_ids))):
                query = sa.select(round_phases).where(round_phases.c.round_id.in_(ids))
                rows = (await connection.execute(query)).mappings()
                found += [(row["round_id"], _phase(row)) for row in rows]
        return tuple(found)

    async def running(self) -> int | None:
        """Number of the round that is under way."""
        query = sa.select(rounds.c.id).where(rounds.c.state == WorkState.RUNNING).order_by(rounds.c.id)
        async with self._database.read() as connection:
            return (await connection.execute(query.limit(1))).scalar()

    async def unfinished(self) -> tuple[int, ...]:
        """Numbers of the rounds that wait or run, oldest first."""
        open_states = [WorkState.QUEUED, WorkState.RUNNING]
        query = sa.select(rounds.c.id).where(rounds.c.state.in_(open_states)).order_by(rounds.c.id)
        async with self._database.read() as connection:
            return tuple((await connection.execute(query)).scalars())

    async def last_end(self) -> float | None:
        """When the round ended that ended last, as Unix time; None when none did."""
        async with self._database.read() as connection:
            return (await connection.execute(sa.select(sa.func.max(rounds.c.ended_at_s)))).scalar()

    async def promoted_policy(self) -> str | None:
        """The policy the next round starts from; None when none was promoted."""
        query = sa.select(promotions.c.policy_id).order_by(promotions.c.id.desc()).limit(1)
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar()

    async def request_cancel(self, round_id: int) -> WorkState:
        """Ask a round to stop; returns the state it was in.

        Raises:
            NotFound: no such round.
            WrongState: it is over already.
        """
        async with self._database.write() as connection:
            query = sa.select(rounds.c.state).where(rounds.c.id == round_id).with_for_update()
            state = (await connection.execute(query)).scalar()
            if state is None:
                raise NotFound("round", round_id)
            if WorkState(state).over:
                raise WrongState(f"round {round_id} is {state} already", state=state)
            await connection.execute(
                sa.update(rounds).where(rounds.c.id == round_id).values(cancel_requested=True)
            )
        return WorkState(state)

    async def halt_requested(self, round_id: int) -> WorkState | None:
        """As what somebody asked the round to stop: cancelled or paused; None: nobody did."""
        query = sa.select(rounds.c.cancel_requested, rounds.c.pause_requested)
        async with self._database.read() as connection:
            row = (await connection.execute(query.where(rounds.c.id == round_id))).mappings().one()
        if row["cancel_requested"]:
            return WorkState.CANCELLED
        return WorkState.PAUSED if row["pause_requested"] else None

    async def plan(self, round_id: int, policy_in: str | None, phases: Sequence[PhasePlan]) -> None:
        """Note start policy and phases of a round that begins; a second call changes nothing."""
        rows = [
            {
                "round_id": round_id,
                "position": position,
                "name": phase.name,
                "kind": phase.kind,
                "policy_in": phase.policy_in,
                "state": WorkState.QUEUED,
                "metrics": {},
            }
            for position, phase in enumerate(phases)
        ]
        async with self._database.write() as connection:
            there = await connection.execute(
                sa.select(sa.func.count())
                .where(round_phases.c.round_id == round_id)
                .select_from(round_phases)
            )
            if there.scalar_one():
                return
            await connection.execute(sa.insert(round_phases), rows)
            await connection.execute(
                sa.update(rounds).where(rounds.c.id == round_id).values(policy_in=policy_in)
            )

    async def set_going(self, round_id: int, life: int) -> bool:
        """Note that a round runs; False of one that neither waits nor runs, or is in another life by now."""
        open_states = [WorkState.QUEUED, WorkState.RUNNING]
        where = (rounds.c.id == round_id, rounds.c.life == life, rounds.c.state.in_(open_states))
        begun = sa.func.coalesce(rounds.c.started_at_s, time.time())
        async with self._database.write() as connection:
            going = await connection.execute(
                sa.update(rounds).where(*where).values(state=WorkState.RUNNING, started_at_s=begun)
            )
        return going.rowcount == 1

    async def update(self, round_id: int, **values: Any) -> None:
        """Change columns of a round."""
        async with self._database.write() as connection:
            await connection.execute(sa.update(rounds).where(rounds.c.id == round_id).values(values))

    async def update_phase(self, round_id: int, name: str, **values: Any) -> None:
        """Change columns of a phase."""
        where = (round_phases.c.round_id == round_id, round_phases.c.name == name)
        async with self._database.write() as connection:
            await connection.execute(sa.update(round_phases).where(*where).values(values))

    async def park(self, round_id: int, life: int) -> None:
        """Note that a round has stopped to pause."""
        where = (rounds.c.id == round_id, rounds.c.life == life, rounds.c.state == WorkState.RUNNING)
        async with self._database.write() as connection:
            await connection.execute(sa.update(rounds).where(*where).values(state=WorkState.PAUSED))

    async def close(self, round_id: int, state: WorkState, reason: str | None, life: int) -> None:
        """End a round, and with it every phase that is not over; one that is over already, or in another life
        by now, stays as it is.

        Without a reason it keeps the one it has: a round can be done and have promoted nothing.
        """
        now = time.time()
        why = {} if reason is None else {"reason": reason}
        open_states = [WorkState.QUEUED, WorkState.RUNNING, WorkState.PAUSED]
        freed = sa.case((rounds.c.key.startswith(OF_CONFIG), None), else_=rounds.c.key)
        async with self._database.write() as connection:
            ended = await connection.execute(
                sa.update(rounds)
                .where(rounds.c.id == round_id, rounds.c.life == life, rounds.c.state.in_(open_states))
                .values(state=state, ended_at_s=now, key=freed, **why)
            )
            if not ended.rowcount:
                return
            await connection.execute(
                sa.update(round_phases)
                .where(
                    round_phases.c.round_id == round_id,
                    round_phases.c.state.in_([WorkState.RUNNING, WorkState.PAUSED]),
                )
                .values(state=state, reason=reason, ended_at_s=now)
            )
            await connection.execute(
                sa.update(round_phases)
                .where(round_phases.c.round_id == round_id, round_phases.c.state == WorkState.QUEUED)
                .values(state=WorkState.SKIPPED)
            )


def _round(row: RowMapping, phases: Sequence[PhaseRecord]) -> RoundRecord:
    values = {name: row[name] for name in row if name not in ("key", "state")}
    return RoundRecord(**values, state=WorkState(row["state"]), phases=tuple(phases))


def _phase(row: RowMapping) -> PhaseRecord:
    values = {name: row[name] for name in row if name not in ("round_id", "state")}
    return PhaseRecord(**values, state=WorkState(row["state"]))
