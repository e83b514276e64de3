"""What goes over HTTP about jobs: work on the store that takes its time."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator

from deskhand_flywheel.types import OutcomeFilter
from deskhand_platform.api.models import Incoming, JsonObject
from deskhand_platform.states import WorkState

LabelSource = Literal["monte-carlo", "human", "judge", "outcome"]


class FsckOrder(Incoming):
    """Check every row and blob."""

    kind: Literal["fsck"] = "fsck"
    repair: bool = False
    """Mend what can be; drops nothing whole."""
    spare: Annotated[str, Field(max_length=1000)] | None = None
    """URL of a blob store, such as a backup, to take lost blobs from; one of the setting `jobs.spares`."""
    settle_hours: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Blobs and silent episodes younger than this are passed over."""


class GcOrder(Incoming):
    """Drop old trajectories by a rule, and blobs nothing cites; never what a dataset, policy or run cites."""

    kind: Literal["gc"] = "gc"
    rule: JsonObject | None = Field(
        default=None, examples=[{"drop": [{"older_than_days": 30, "where": {"outcome": "failure"}}]}]
    )
    """What may go; None: blobs that nothing cites."""
    apply: bool = False
    """Drop it; else only what would go is said."""


class EpisodesOrder(Incoming):
    """Something to be done with some episodes."""

    tasks: Annotated[list[str], Field(min_length=1, max_length=200)] | None = None
    """Only of these."""
    policy_id: Annotated[str, Field(max_length=64)] | None = None
    """Only those that it played."""
    outcome: OutcomeFilter | None = None
    """Only those that went so."""
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Only those with all of these."""


class JudgeOrder(EpisodesOrder):
    """Let a model judge what it has not judged yet."""

    kind: Literal["judge"] = "judge"
    what: Literal["steps", "outcomes"] = "steps"
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """One that takes pictures, by its name at the endpoint."""
    endpoint: Annotated[str, Field(max_length=1000)] | None = None
    """Of the setting `jobs.endpoints`; None: OpenAI's own, which has to be there as well."""
    rubric: Annotated[str, Field(max_length=100_000)] | None = None
    """How to score, in words; None: the package's own."""
    settings: JsonObject = Field(default_factory=dict, examples=[{"retries": 5}])
    limit: Annotated[int, Field(ge=1)] | None = None
    """Trajectories at most."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Requests at a time."""


class LabelOrder(EpisodesOrder):
    """Label steps by episodes that go on from each state."""

    kind: Literal["label"] = "label"
    policy: Annotated[str, Field(max_length=64)] = "deskhand-tiny"
    """Who goes on: a kept one, or "scripted" for the oracles."""
    continuations: Annotated[int, Field(ge=1, le=100_000)] = 8
    """From each state of an episode."""
    temperature: Annotated[float, Field(ge=0, le=10)] = 1.0
    max_tokens: Annotated[int, Field(ge=1, le=4096)] = 64
    max_steps: Annotated[int, Field(ge=1, le=2**31 - 1)] = 50
    """Episodes of more are left out."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Episodes at most, newest first."""
    workers: Annotated[int, Field(ge=1, le=512)] = 4
    """Episodes labelled at a time."""


class TrainOrder(Incoming):
    """Train a process reward model on labels of the store, and keep it."""

    kind: Literal["prm-train"] = "prm-train"
    policy: Annotated[str, Field(max_length=64)] = "deskhand-tiny"
    """Whose model reads the steps."""
    settings: JsonObject = Field(
        default_factory=dict, examples=[{"labels": ["human", "monte-carlo"], "epochs": 20}]
    )
    """Those of a round's section `score`."""


class ScoreOrder(EpisodesOrder):
    """Score the episodes that a process reward model has not scored yet."""

    kind: Literal["prm-score"] = "prm-score"
    model: Annotated[str, Field(max_length=64)]


class CalibrateOrder(Incoming):
    """Say how good a process reward model's scores are, and scale them to their labels."""

    kind: Literal["calibrate"] = "calibrate"
    model: Annotated[str, Field(max_length=64)]
    sources: Annotated[list[LabelSource], Field(min_length=1, max_length=4)] = Field(
        default_factory=lambda: ["monte-carlo"]
    )
    """Who says how good steps are; the first that speaks of a step counts."""
    judge: Annotated[str, Field(max_length=160, pattern="^(judge:.+)?$", examples=["judge:m@1f0c"])] = ""
    """Whose scores of judging models, by name and version; empty: the latest of each step."""
    inexact: bool = False
    """Also labels from states that looked other than recorded."""
    tasks: Annotated[list[str], Field(min_length=1, max_length=200)] | None = None
    """Only of these."""
    keep: bool = True
    """Keep the calibrated model."""

    @field_validator("judge")
    @classmethod
    def _of_a_judge(cls, judge: str, info: ValidationInfo) -> str:
        if judge and "judge" not in info.data.get("sources", ("judge",)):
            raise ValueError(
                "says whose scores are labels, and no judge is among who says how good steps are"
            )
        return judge


class MergeOrder(Incoming):
    """Make one policy of several by the weighted mean of their weights, and keep it."""

    kind: Literal["merge"] = "merge"
    policies: Annotated[list[Annotated[str, Field(max_length=64)]], Field(min_length=2, max_length=32)]
    weights: (
        Annotated[list[Annotated[float, Field(gt=0, le=1e9)]], Field(min_length=2, max_length=32)] | None
    ) = None
    """Of each, in order; None: all the same."""

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        if self.weights is not None and len(self.weights) != len(self.policies):
            raise ValueError(f"weights: give one for each of the {len(self.policies)} policies, or none")
        return self


class CheckTasksOrder(Incoming):
    """Prove tasks: each fails when nothing is done, passes on its oracle, and scores the same again."""

    kind: Literal["check-tasks"] = "check-tasks"
    tasks: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=1000)] | None = None
    """Ids, patterns ("miniwob/click-*") or families ("miniwob"); None: every task there is."""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 1
    """Start states of each task."""
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Tasks at a time."""


class GrowTasksOrder(Incoming):
    """Grow new tasks: each fails at the start, and its own actions reach its goal twice."""

    kind: Literal["grow-tasks"] = "grow-tasks"
    tasks: (
        Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=200)] | None
    ) = None
    """Whose start states are grown from, none held out; None: generated/fill-2-large to fill-4-large."""
    by: Literal["template", "explored", "model"] = "template"
    """Explored: by acting at random; model: by a chat endpoint."""
    pages: Annotated[int, Field(ge=1, le=10_000)] = 5
    """Train seeds of each task."""
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Train seeds passed over first."""
    each: Annotated[int, Field(ge=1, le=1000)] = 6
    """Tasks, or actions to explore with, on each."""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """By its name at the endpoint; only of `by` "model"."""
    endpoint: Annotated[str, Field(max_length=1000)] | None = None
    """Of the setting `jobs.endpoints`; None: OpenAI's own, which has to be there as well."""

    @model_validator(mode="after")
    def _whose_model(self) -> Self:
        if (self.by == "model") != (self.model is not None):
            raise ValueError('model: names the model of by "model", and only of that')
        return self


Order: TypeAlias = (
    FsckOrder
    | GcOrder
    | JudgeOrder
    | LabelOrder
    | TrainOrder
    | ScoreOrder
    | CalibrateOrder
    | MergeOrder
    | CheckTasksOrder
    | GrowTasksOrder
)
JobOrder: TypeAlias = Annotated[Order, Field(discriminator="kind")]
JobKind = Literal[
    "fsck",
    "gc",
    "judge",
    "label",
    "prm-train",
    "prm-score",
    "calibrate",
    "merge",
    "check-tasks",
    "grow-tasks",
]


class JobModel(BaseModel):
    """Something to be done with the store, how far it is, and what came of it."""

    id: str
    kind: JobKind
    order: JsonObject
    """What was asked for."""
    state: WorkState
    reason: str | None
    """Why it came to nothing."""
    phase: str
    """What it does now."""
    done: int
    total: int
    """Of what it does now; 0 of 0 when not known."""
    by: str
    """Who asked for it."""
    asked_at_s: float
    ended_at_s: float | None
    result: JsonObject | None = None
    """Of one that is done, where a single one is asked for."""


class JobLog(BaseModel):
    """A piece of what a job wrote."""

    text: str
    offset: int
    """Where the piece begins, in bytes."""
    next_offset: int
    """Where the next one does."""
    size: int
    """Bytes there are by now."""
    over: bool
    """Nothing more will come."""
