"""Evaluations of rounds as their rounds know them: a run's folder does not say that its round has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from deskhand_platform.evaluations.records import EvaluationRecord
from deskhand_platform.rounds.book import PhaseRecord
from deskhand_platform.states import WorkState

SUPERSEDED = "its phase was done anew"


def as_rounds_say(
    records: Sequence[EvaluationRecord], phases: Mapping[tuple[str, str], PhaseRecord]
) -> tuple[EvaluationRecord, ...]:
    """The records, those that have no result in the state of their phase.

    Args:
        phases: by number of the round and name; evaluations of others stay as they are.
    """
    return tuple(_settled(one, phases.get((one.round or "", one.phase or ""))) for one in records)


def _settled(record: EvaluationRecord, phase: PhaseRecord | None) -> EvaluationRecord:
    if phase is None or record.state is WorkState.DONE:
        return record
    if phase.run_id not in (None, record.id):
        return replace(record, state=WorkState.CANCELLED, reason=SUPERSEDED, ended_at_s=phase.started_at_s)
    state = WorkState.CANCELLED if phase.state is WorkState.SKIPPED else phase.state
    return replace(record, state=state, reason=phase.reason, ended_at_s=phase.ended_at_s)
