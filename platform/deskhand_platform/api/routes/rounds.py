"""/v1/rounds and /v1/presets."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any, cast

from fastapi import APIRouter

from deskhand_platform.api.deps import Cursor, Have, Limit, LogOffset, LogTail, Noted, RowId, before
from deskhand_platform.api.endpoints import check_overrides
from deskhand_platform.api.models import (
    EvaluationRow,
    JsonObject,
    Page,
    Phase,
    Preset,
    Rate,
    Round,
    RoundStart,
    RoundSummary,
    RunProgress,
)
from deskhand_platform.api.models_rounds import PhaseLog, RoundClone, RoundForm, RoundRetry
from deskhand_platform.api.whole_text import as_sent
from deskhand_platform.errors import NotFound
from deskhand_platform.rounds.book import PhaseRecord, RoundRecord
from deskhand_platform.rounds.config import as_json
from deskhand_platform.rounds.logs import read_log
from deskhand_platform.rounds.presets import preset, preset_names
from deskhand_platform.rounds.schema import round_schema
from deskhand_platform.rounds.table import Row, SuccessRate, rows
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state

router = APIRouter(tags=["rounds"])


@router.get("/presets")
async def list_presets() -> list[Preset]:
    """Named rounds, with what can be overridden."""
    found = [(name, preset(name)) for name in preset_names()]
    return [
        Preset(name=name, description=config.description, config=cast(JsonObject, as_json(config)))
        for name, config in found
    ]


@router.post("/rounds", status_code=201)
async def start_round(have: Have, noted: Noted, body: RoundStart) -> Round:
    """Start a round, or queue it behind the one that runs.

    Two starts of the same are one round: of one key, or, without keys, of an equal config while the round is
    not over.
    """
    check_overrides(body.overrides, have.settings.jobs.endpoints)
    record = await have.rounds.start(body.preset, cast(dict[str, Any], body.overrides), body.key)
    noted(f"{record.id}: {as_sent(body)}")
    return shown(record, have)


@router.get("/rounds")
async def list_rounds(have: Have, cursor: Cursor = None, limit: Limit = 50) -> Page[RoundSummary]:
    """Rounds with their success before and after, newest first."""
    found = await have.book.list(before=before(cursor), limit=limit)
    more = str(found[-1].id) if len(found) == limit else None
    return Page[RoundSummary](items=[summary(one) for one in found], next_cursor=more)


@router.get("/rounds/form")
async def round_form(have: Have) -> RoundForm:
    """What a form that starts rounds is drawn from: every field with its type, default, bounds and help."""
    schema = await asyncio.to_thread(round_schema)
    return RoundForm(config_schema=cast(JsonObject, schema), presets=await list_presets())


@router.get("/rounds/{id}")
async def get_round(have: Have, id: RowId) -> Round:
    """One round: phases with their progress and figures, and the table so far."""
    return shown(await have.book.get(id), have)


@router.post("/rounds/{id}/cancel")
async def cancel_round(have: Have, id: RowId) -> Round:
    """Stop a round; what it has stored stays."""
    return shown(await have.rounds.cancel(id), have)


@router.post("/rounds/{id}/pause")
async def pause_round(have: Have, id: RowId) -> Round:
    """Stop a round's run with its state safe; other rounds take their turn until it is resumed."""
    return shown(await have.rounds.pause(id), have)


@router.post("/rounds/{id}/resume")
async def resume_round(have: Have, id: RowId) -> Round:
    """Let a paused round go on at the step where it was, when it is its turn."""
    return shown(await have.rounds.resume(id), have)


@router.post("/rounds/{id}/clone", status_code=201)
async def clone_round(have: Have, noted: Noted, id: RowId, body: RoundClone) -> Round:
    """Start a round that is told what this one was, with overrides."""
    check_overrides(body.overrides, have.settings.jobs.endpoints)
    record = await have.rounds.clone(id, cast(dict[str, Any], body.overrides), body.key)
    noted(f"{record.id}: {as_sent(body)}")
    return shown(record, have)


@router.post("/rounds/{id}/retry")
async def retry_round(have: Have, id: RowId, body: RoundRetry) -> Round:
    """Let a round that is over, or paused, go on from one of its phases."""
    return shown(await have.rounds.retry(id, body.phase, afresh=body.afresh), have)


@router.get("/rounds/{id}/phases/{name}/log")
async def phase_log(
    have: Have,
    id: RowId,
    name: str,
    offset: LogOffset = None,
    tail: LogTail = 16384,
) -> PhaseLog:
    """A piece of what a phase's run wrote; asked again with `next_offset`, what it wrote since."""
    phases = (await have.book.get(id)).phases
    phase = next((one for one in phases if one.name == name), None)
    if phase is None:
        raise NotFound("phase", name, [one.name for one in phases])
    folder = have.settings.runs / (phase.run_id or phase.run_of(id))
    piece = await asyncio.to_thread(read_log, folder, offset=offset, tail=tail)
    going = phase.state in (WorkState.QUEUED, WorkState.RUNNING, WorkState.PAUSED)
    return PhaseLog(**asdict(piece), over=not going and piece.next_offset == piece.size)


def summary(record: RoundRecord) -> RoundSummary:
    """A round for a list."""
    measured = [_row(row) for row in rows(record)]
    return RoundSummary(
        id=record.id,
        preset=record.preset,
        state=record.state,
        reason=record.reason,
        cancelling=record.cancel_requested and not record.state.over,
        pausing=record.pause_requested and record.state is not WorkState.PAUSED and not record.state.over,
        policy_in=record.policy_in,
        policy_out=record.policy_out,
        promoted=record.promoted,
        before=measured[0] if measured else None,
        after=measured[-1] if len(measured) > 1 else None,
        created_at_s=record.created_at_s,
        started_at_s=record.started_at_s,
        ended_at_s=record.ended_at_s,
    )


def shown(record: RoundRecord, have: Services) -> Round:
    """A round in full."""
    return Round(
        **summary(record).model_dump(),
        config=cast(JsonObject, dict(record.config)),
        phases=[_phase(phase, have) for phase in record.phases],
        rows=[_row(row) for row in rows(record)],
    )


def _phase(phase: PhaseRecord, have: Services) -> Phase:
    state = None if phase.run_id is None else read_state(have.settings.runs / phase.run_id)
    progress = None
    if state is not None:
        progress = RunProgress(
            phase=state.phase, done=state.done, total=state.total, updated_at_s=state.updated_at_s
        )
    return Phase(
        name=phase.name,
        kind=phase.kind,
        state=phase.state,
        attempt=phase.attempt,
        run_id=phase.run_id,
        progress=progress,
        metrics=cast(JsonObject, dict(phase.metrics)),
        reason=phase.reason,
        policy_out=phase.policy_out,
        started_at_s=phase.started_at_s,
        ended_at_s=phase.ended_at_s,
    )


def _row(row: Row) -> EvaluationRow:
    return EvaluationRow(
        label=row.label,
        policy_id=row.policy_id,
        sampled=_rate(row.sampled),
        greedy=_rate(row.greedy),
        training_episodes=row.training_episodes,
        minutes=row.minutes,
    )


def _rate(rate: SuccessRate | None) -> Rate | None:
    if rate is None:
        return None
    return Rate(success=rate.success, low=rate.low, high=rate.high, episodes=rate.episodes)
