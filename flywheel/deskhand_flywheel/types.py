"""The words of the flywheel: scores, datasets, examples, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from deskhand_agent.types import Trajectory
from deskhand_sandbox.types import JsonValue


@dataclass(frozen=True, kw_only=True, slots=True)
class StepScore:
    """How much a step helps, in somebody's judgement."""

    trajectory_id: str
    step_index: int
    score: float
    """0 (harms) to 1 (helps)."""
    scorer: str
    """"prm:<digest of its weights>", "human:<name>", "judge:<model>": never reused for another version."""
    rationale: str | None = None


class RewardModel(Protocol):
    """Scores every step of a trajectory."""

    scorer: str

    async def score(self, trajectory: Trajectory) -> Sequence[StepScore]:
        """One score per step, in order."""
        ...


class DatasetKind(StrEnum):
    """What a dataset is for."""

    RL_POOL = "rl_pool"
    SFT = "sft"
    CONTINUED_PRETRAINING = "continued_pretraining"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """A named, versioned list of trajectories with the recipe that chose them."""

    name: str
    version: int
    """From 1; a new selection under the same name is a new version."""
    kind: DatasetKind
    recipe: Mapping[str, JsonValue]
    """Rule and arguments that select exactly these ids from the store."""
    trajectory_ids: tuple[str, ...]
    created_at_s: float


class EventKind(StrEnum):
    """What an event reports."""

    METRIC = "metric"
    """Numbers of one training or rollout step."""
    STATE = "state"
    """Something began, advanced or ended."""
    ALARM = "alarm"
    """Something a person should look at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One row of the append-only event table; its id is the `Last-Event-ID` of the live stream."""

    id: int
    """Ascending; 0 before it is written."""
    at_s: float
    """Unix time."""
    subject: str
    """What it is about: "round:3", "run:round-3-ppo"."""
    kind: EventKind
    name: str
    """e.g. "ppo/iteration", "state", "kl_high"."""
    data: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRecord:
    """A kept checkpoint: a manifest {file: BLAKE3} in the blob store."""

    id: str
    parent_id: str | None
    """Policy it was trained from; None for one built from its config."""
    manifest: Mapping[str, str]
    """File name to BLAKE3 of its bytes."""
    metadata: Mapping[str, JsonValue]
    """Seed ranges, datasets, run id, evaluation: whatever made it."""
    created_at_s: float
