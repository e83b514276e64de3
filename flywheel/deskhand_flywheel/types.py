"""The words of the flywheel: scores, datasets, examples, events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from deskhand_agent.types import Failure, Step, StopReason, Trajectory
from deskhand_sandbox.types import Image, JsonValue, Outcome, Split

HUMAN, JUDGE, PRM = "human", "judge", "prm"
"""Kinds of scorers: what stands before the colon of a scorer's name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepScore:
    """How much a step helps, in somebody's judgement."""

    trajectory_id: str
    step_index: int
    score: float
    """0 (harms) to 1 (helps)."""
    scorer: str
    """"prm:<digest of its weights>", "human:<name>", "judge:<model>@<digest of its rubric>": never reused for
    another version."""
    rationale: str | None = None
    scored_at_s: float | None = field(default=None, compare=False)
    """Unix time; None: when it comes into the store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeScore:
    """How well a whole episode did what was asked, in somebody's judgement other than its verifier's."""

    trajectory_id: str
    score: float
    """0 (not done) to 1 (done)."""
    scorer: str
    """As in `StepScore`."""
    rationale: str | None = None
    scored_at_s: float | None = field(default=None, compare=False)
    """As in `StepScore`."""


class JudgeTrouble(StrEnum):
    """Why a judge came to no verdict."""

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    NONSENSE = "nonsense"
    """What came back holds none, however often it was asked for."""
    PICTURE = "picture"
    """A screen to be shown is missing or damaged."""
    RECORD = "record"
    """The episode's record is damaged, or of a form this version cannot read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFailure:
    """A step, or an episode, that a judge came to no verdict on."""

    trajectory_id: str
    step_index: int | None
    """None: the whole episode."""
    scorer: str
    trouble: JudgeTrouble
    """Of the last attempt."""
    detail: str
    attempts: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What a person thought aloud about a step."""

    id: str
    """UUID7 hex: sorts by time."""
    trajectory_id: str
    step_index: int
    author: str
    text: str
    created_at_s: float
    edited_at_s: float | None = None
    """None: as it was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepValue:
    """What a step was worth to a policy, by Monte-Carlo continuation: how often it succeeds from there."""

    trajectory_id: str
    step_index: int
    labeller: str
    """Version of what labelled it: names the policy, how it drew, and how often."""
    before: float
    """V(s_k), 0 to 1: share of successes among continuations from the state the step was decided in."""
    before_error: float
    """Its standard error."""
    after: float
    """Q(s_k, a_k), 0 to 1: the same from the state the step led to; of the last step, the episode's own
    success."""
    after_error: float
    """Its standard error; 0 for the last step."""
    continuations: int
    """From each state."""
    exact: bool
    """They began in the recorded states; False where a replay showed another screen than was recorded."""
    labelled_at_s: float | None = field(default=None, compare=False)
    """Unix time; None: when it comes into the store."""

    @property
    def label(self) -> float:
        """(1 + Q − V) / 2, 0 to 1: the chance that an episode from after the step does better than one from
        before it, a tie counting half; ½ where the step changes nothing."""
        return (1.0 + self.after - self.before) / 2.0

    @property
    def label_error(self) -> float:
        """Standard error of `label`."""
        return (self.after_error**2 + self.before_error**2) ** 0.5 / 2.0


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
    EARLY_EXPERIENCE = "early_experience"


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


class OutcomeFilter(StrEnum):
    """Trajectories by how they went."""

    SUCCESS = "success"
    """The verifier said done."""
    FAILURE = "failure"
    """The verifier said not done."""
    NONE = "none"
    """No verdict: still running, cancelled, or the infrastructure failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryFilter:
    """Which trajectories; every field narrows, None does not."""

    task_ids: tuple[str, ...] | None = None
    """Any of these tasks."""
    policy_id: str | None = None
    """An id; "deskhand-tiny" stands for every version of it that was kept."""
    split: Split | None = None
    outcome: OutcomeFilter | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """All of these, e.g. {"run": "round-3-ppo"}."""
    folders: tuple[str, ...] | None = None
    """Played by a run in any of these folders, by their stamps: other homes have runs of the same name."""
    since_s: float | None = None
    """Begun at or after this Unix time."""
    until_s: float | None = None
    """Begun before this Unix time."""
    failure: Failure | None = None
    """What broke that was not the agent."""
    min_score: float | None = None
    max_score: float | None = None
    """Of the outcome; episodes without a verdict have none."""
    min_steps: int | None = None
    max_steps: int | None = None
    """Of whole episodes."""
    text: str | None = None
    """Words in the instruction or in one thought, as `search` has it."""
    ended: bool | None = None
    """True: only whole episodes; False: only those still running or whose process died."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectorySummary:
    """A trajectory without its steps, for lists."""

    id: str
    task_id: str
    seed: int
    instruction: str
    policy_id: str
    policy_update: int
    group_id: str | None
    split: Split
    labels: Mapping[str, str]
    started_at_s: float
    ended_at_s: float | None
    """None while it runs, or when its process died."""
    steps: int
    """Written so far."""
    reward: float
    """Sum of the environment rewards so far."""
    outcome: Outcome | None
    stop_reason: StopReason | None
    failure: Failure | None
    last_screen: Image | None = None
    """That the last action was decided on, for what comes after it is often blank; without its bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryPage:
    """One page of summaries, newest first."""

    items: tuple[TrajectorySummary, ...]
    next_cursor: str | None
    """Hand it back for the page after this one; None when this is the last."""
    unreadable: tuple[str, ...] = ()
    """Ids of those that belong here and cannot be read; the integrity check says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPage:
    """Some steps of one trajectory, in order."""

    items: tuple[Step, ...]
    total: int
    """Steps the trajectory has so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sieve:
    """What of the episodes a rule chooses is left out of a dataset."""

    least_success: float = 0.0
    """Tasks of whose episodes a smaller share succeeded (0 to 1) are left out."""
    most_success: float = 1.0
    """Tasks of whose episodes a larger share succeeded (0 to 1) are left out."""
    unique: bool = False
    """Of episodes with the same instruction that saw and did the same the oldest alone is taken."""
    clean: bool = True
    """Episodes that begin as one of a held-out task does, same words and same screen, are left out."""
    thin_above: float = 0.6
    """Share of successes (0 to 1) above which a task's episodes are thinned out (DART)."""
    thin_to: int = 0
    """So many of such a task's, the newest, are taken; 0: all."""
    within_longest: bool = False
    """Episodes that took more turns than the longest success of their task are left out (DART)."""
    rescue: bool = False
    """For a task of which all chosen episodes failed, its newest success of the whole store is taken beside
    them, where successes are (DART)."""


class SelectionRule(StrEnum):
    """Which whole episodes a dataset takes, and with that what it is for."""

    SUCCESS = "success"
    """Those that succeeded, for SFT."""
    FAILURE = "failure"
    """Those that did not, for continued pretraining."""
    ALL = "all"
    """Both, for the RL pool."""
    EXPERIENCE = "experience"
    """Both, for what their actions led to."""

    @property
    def kind(self) -> DatasetKind:
        return {
            SelectionRule.SUCCESS: DatasetKind.SFT,
            SelectionRule.FAILURE: DatasetKind.CONTINUED_PRETRAINING,
            SelectionRule.ALL: DatasetKind.RL_POOL,
            SelectionRule.EXPERIENCE: DatasetKind.EARLY_EXPERIENCE,
        }[self]
