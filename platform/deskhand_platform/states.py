"""In which states tasks, rounds, phases, proposals and alarms can be."""

from __future__ import annotations

from enum import StrEnum


class WorkState(StrEnum):
    """State of a task, a round or a phase of a round."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    """Only rounds and their phases: stopped with the state safe, until somebody resumes it."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """Only phases: the round had no need of it."""

    @property
    def over(self) -> bool:
        """Nothing will change any more."""
        return self not in (WorkState.QUEUED, WorkState.RUNNING, WorkState.PAUSED)


class ProposalState(StrEnum):
    """How far an action is that waits for a person."""

    WAITING = "waiting"
    ANSWERED = "answered"
    LAPSED = "lapsed"
    """Nobody answered in time: the policy had its way."""
    WITHDRAWN = "withdrawn"
    """Its episode ended meanwhile, or somebody took its controls."""


class AlarmState(StrEnum):
    """Where an alarm is."""

    RAISED = "raised"
    ACKNOWLEDGED = "acknowledged"
    """Somebody has seen it; what it is about goes on."""
    CLEARED = "cleared"
