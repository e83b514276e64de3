"""Episodes of others: what they say of a turn, made into our records, and what they leave open filled in.

The id is drawn from the content: the same episode imported twice is one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from blake3 import blake3

from deskhand_agent.types import (
    Decision,
    Step,
    StepTimings,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel.exchange.types import Guidance, Recorded
from deskhand_flywheel.records import encode
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import (
    Action,
    EnvironmentSpec,
    Fail,
    Finish,
    Image,
    Observation,
    Outcome,
    Task,
    VerifierSpec,
)

SUCCESS = 1.0
"""A result from which an episode counts as done."""
_NOT_MEASURED = StepTimings(model_ms=0.0, act_ms=0.0, settle_ms=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignTurn:
    """One turn as somebody else recorded it."""

    screen: Image
    text: str
    actions: tuple[Action, ...]
    thought: str | None = None
    error: str | None = None
    """Why the actions could not be read."""
    answer: str | None = None
    """What the user said to its question."""
    reward: float = 0.0
    at_s: float = 0.0
    """Unix time; 0 where nobody wrote it down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignEpisode:
    """One episode as somebody else recorded it."""

    task_id: str
    instruction: str
    turns: Sequence[ForeignTurn]
    final: Image | None
    result: float | None
    """0 to 1; None where there is no verdict."""
    done: bool
    """The environment said that it is over."""
    environment: str
    """Kind of sandbox that is nearest."""
    verifier: str
    labels: Mapping[str, str]
    first_left_out: bool = False
    """There is no picture of the first screen, and so no first turn."""


def adopted(episode: ForeignEpisode, guidance: Guidance) -> Recorded:
    """The episode as a trajectory of ours."""
    task = Task(
        id=episode.task_id,
        environment=EnvironmentSpec(kind=episode.environment),
        verifier=VerifierSpec(name=episode.verifier),
        instruction=episode.instruction,
    )
    turns = episode.turns
    start = TrajectoryStart(
        id="",
        task=task,
        instruction=episode.instruction,
        policy_id=guidance.policy_id,
        policy_update=0,
        group_id=None,
        split=split_of(task.id, task.seed),
        started_at_s=turns[0].at_s if turns else 0.0,
        labels=episode.labels,
    )
    steps = tuple(_step(index, turn) for index, turn in enumerate(turns))
    trajectory = Trajectory(start=start, steps=steps, end=_end(episode, guidance))
    return Recorded(
        trajectory=replace(trajectory, start=replace(start, id=_id_of(trajectory))),
        unread=sum(turn.error is not None for turn in turns),
        first_left_out=episode.first_left_out,
    )


def _step(index: int, turn: ForeignTurn) -> Step:
    decision = Decision(
        actions=turn.actions,
        text=turn.text,
        thought=turn.thought,
        error=turn.error,
    )
    return Step(
        index=index,
        observation=Observation(screenshot=turn.screen, captured_at_s=turn.at_s, settled_ms=0.0),
        decision=decision,
        reward=turn.reward,
        answer=turn.answer,
        timings=_NOT_MEASURED,
        finished_at_s=turn.at_s,
    )


def _end(episode: ForeignEpisode, guidance: Guidance) -> TrajectoryEnd:
    at_s = episode.turns[-1].at_s if episode.turns else 0.0
    result = 1.0 if episode.result is None and guidance.succeeded else episode.result
    outcome = None if result is None else Outcome(score=result, success=result >= SUCCESS, detail="imported")
    seen = episode.final and Observation(screenshot=episode.final, captured_at_s=at_s, settled_ms=0.0)
    return TrajectoryEnd(
        final_observation=seen or None,
        outcome=outcome,
        stop_reason=_stop_reason(episode),
        failure=None,
        ended_at_s=at_s,
    )


def _stop_reason(episode: ForeignEpisode) -> StopReason:
    last = episode.turns[-1].actions[-1:] if episode.turns else ()
    match last:
        case (Finish(),):
            return StopReason.FINISHED
        case (Fail(),):
            return StopReason.GAVE_UP
        case _:
            return StopReason.TERMINATED if episode.done else StopReason.TURN_LIMIT


def _id_of(trajectory: Trajectory) -> str:
    """A UUID of version 7 that sorts by when the episode began, its random bits drawn from the content."""
    canonical = json.dumps(encode(trajectory), sort_keys=True).encode()
    drawn = int.from_bytes(blake3(canonical).digest(length=10), "big")
    milliseconds = max(0, int(trajectory.start.started_at_s * 1000)) & (1 << 48) - 1
    value = milliseconds << 80 | 0x7 << 76 | (drawn >> 62 & 0xFFF) << 64 | 0b10 << 62 | drawn & (1 << 62) - 1
    return f"{value:032x}"
