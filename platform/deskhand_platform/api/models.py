"""What goes over HTTP. Nothing in here is used further in."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from deskhand_flywheel.types import EventKind
from deskhand_platform.rounds import DEFAULT
from deskhand_platform.states import WorkState

Item = TypeVar("Item")
JsonObject = dict[str, JsonValue]


class Incoming(BaseModel):
    """A body from outside: unknown fields are refused by name, and so is a number that is none."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Page(BaseModel, Generic[Item]):
    """Some of many, in order."""

    items: list[Item]
    next_cursor: str | None = None
    """Give it back as `cursor` for the next ones; None at the end."""


class ErrorBody(BaseModel):
    """What went wrong."""

    type: str
    """Stable name, e.g. "not_found", "unauthorized", "invalid_field", "wrong_state"."""
    message: str
    """One sentence for a person."""
    field: str | None = None
    """Which part of the request is meant."""
    suggestions: list[str] = []
    """Names that exist and look alike."""
    state: str | None = None
    """Of a 409: the state that the thing is in, e.g. "done"; of controls "free", "held" (by somebody else) or
    "pending" (what was done last has not reached the sandbox)."""
    retry_s: float | None = None
    """Of a 429: seconds after which another try makes sense, as the header `Retry-After`."""
    used: int | None = None
    """Of a quota: what the owner has."""
    limit: int | None = None
    """Of a quota: what they may have."""
    asked: int | None = None
    """Of a quota: what they asked for."""


class ErrorAnswer(BaseModel):
    """The one shape of every error."""

    error: ErrorBody


class Info(BaseModel):
    """Which platform this is and how it stands."""

    version: str
    started_at_s: float
    sandbox_host: Literal["up", "starting", "down"]
    active_round: int | None
    """The round that is running."""
    user: str
    """Who asks, and whose marks, notes and tasks theirs are."""
    role: str
    """"admin", "operator", "researcher", "annotator" or "submitter"."""
    scopes: list[str]
    """What they may do."""
    limited: bool
    """They came with a token for some of it or for a time: it makes no tokens and changes no password."""


# ---- tasks ------------------------------------------------------------------------------------------


class CatalogTask(BaseModel):
    """A task of an environment family."""

    id: str
    kind: str
    """The kind of sandbox it needs."""
    lent: bool
    """Sandboxes of its kind are lent here: it can be worked."""
    turns: int
    """Where an episode is cut off."""
    oracle: bool
    """A scripted policy solves it."""
    held_out: bool
    """Never used for training anything."""
    description: str


class LimitsBody(Incoming):
    turns: Annotated[int, Field(ge=1, le=1000)] = 30
    seconds: Annotated[float, Field(gt=0, le=86400)] = 300.0
    questions: Annotated[int, Field(ge=0, le=1000)] = 3
    """So many of an episode's questions the user answers."""


class EnvironmentBody(Incoming):
    kind: str
    settings: JsonObject = {}


class VerifierBody(Incoming):
    name: str
    settings: JsonObject = {}


class TaskBody(Incoming):
    """A task in full, for environments outside the catalog."""

    id: str
    environment: EnvironmentBody
    verifier: VerifierBody
    instruction: str = ""
    details: dict[str, str] = {}
    """What the instruction leaves out and the user says when asked: topic -> what it is."""
    limits: LimitsBody = LimitsBody()
    labels: dict[str, str] = {}


class PolicyChoice(Incoming):
    """Who works the task."""

    name: str = "scripted"
    """A name in the policy registry: "scripted", "local", "person", "openai"."""
    settings: JsonObject = {}
    """Settings of that policy; for "local" {"policy_id": …} takes a kept policy."""
    review_s: Annotated[float, Field(gt=0, le=600)] | None = None
    """A person sees each action before it is carried out (`/v1/proposals`), for so long at most; where
    nothing is said, the policy "person" waits 300 s."""


class TaskSubmission(Incoming):
    """A task to be worked: one of the catalog by id, or one in full."""

    task_id: str | None = None
    task: TaskBody | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    policy: PolicyChoice = PolicyChoice()
    labels: dict[str, str] = {}
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    """Higher ones go first."""
    deadline_s: float | None = None
    """Unix time by which it has to be over: then it fails, begun or not."""
    key: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Idempotency key: submitted again under the same key, it is the same task, with its first deadline."""


class TaskBatch(Incoming):
    """Tasks to be queued together: all of them, or none."""

    tasks: Annotated[list[TaskSubmission], Field(min_length=1, max_length=10_000)]


class TaskPreview(BaseModel):
    """A task as it begins."""

    instruction: str
    kind: str
    """The kind of sandbox it was set up in."""
    turns: int
    """Where an episode is cut off."""
    seconds: float
    width_px: int
    height_px: int
    screen: str
    """The first screen as a `data:` URL."""


class SubmittedBatch(BaseModel):
    ids: list[str]
    """Of the tasks, in order."""


class OutcomeModel(BaseModel):
    score: float
    success: bool
    detail: str


class SubmittedTask(BaseModel):
    """A task in the queue, under way, or over."""

    id: str
    state: WorkState
    task_id: str
    seed: int
    policy: PolicyChoice
    labels: dict[str, str]
    priority: int
    deadline_s: float | None
    key: str | None
    owner: str
    """Who submitted it."""
    attempts: int
    branch_of: str | None
    """The trajectory it goes on from; None: it begins at its own start."""
    trajectory_id: str | None
    """Of the latest attempt; None before it began."""
    outcome: OutcomeModel | None
    reason: str | None
    """Why it failed, or ended without an outcome or with fewer branches than ordered."""
    created_at_s: float
    started_at_s: float | None
    ended_at_s: float | None


# ---- rounds -----------------------------------------------------------------------------------------


class Preset(BaseModel):
    """A named round."""

    name: str
    description: str
    config: JsonObject
    """What `overrides` can change, with the values it has."""


class RoundStart(Incoming):
    preset: str = DEFAULT
    overrides: JsonObject = {}
    """Merged into the preset: {"ppo": {"iterations": 10}}."""
    key: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Under which a second start gives the same round, for good. Without one, a start with an equal config
    gives the round there is, until that is over."""


class RunProgress(BaseModel):
    """How far a run is."""

    phase: str
    done: int
    total: int
    """0 of 0 when unknown."""
    updated_at_s: float


class Phase(BaseModel):
    """One phase of a round."""

    name: str
    """Unique in its round: "collect", "evaluate-before", "ppo"."""
    kind: str
    """"collect", "label", "score", "curate", "sft", "pretrain", "ppo", "evaluate" or "promote"."""
    state: WorkState
    attempt: int
    """How often it was done anew before."""
    run_id: str | None
    """Subject of its events is "run:" + this."""
    progress: RunProgress | None
    metrics: JsonObject
    reason: str | None
    policy_out: str | None
    started_at_s: float | None
    ended_at_s: float | None


class Rate(BaseModel):
    """A success rate with its 95 % Wilson interval."""

    success: float
    low: float
    high: float
    episodes: int


class EvaluationRow(BaseModel):
    """One line of a round's table."""

    label: str
    """"before SFT", "after SFT", "after PPO", "start"."""
    policy_id: str | None
    sampled: Rate | None
    greedy: Rate | None
    training_episodes: int | None
    """Episodes the policy learned from in this round so far."""
    minutes: float | None
    """Wall clock of the round's training up to here."""


class RoundSummary(BaseModel):
    """A round with the figures that a list shows."""

    id: int
    preset: str
    state: WorkState
    reason: str | None
    """Why it failed or was cancelled, or why nothing was promoted."""
    cancelling: bool
    """Asked to stop, and not there yet."""
    pausing: bool
    """Asked to pause, and not there yet."""
    policy_in: str | None
    """Policy it started from; None for an untrained one."""
    policy_out: str | None
    promoted: bool | None
    """None until decided."""
    before: EvaluationRow | None
    """The first line of its table; None until it is measured."""
    after: EvaluationRow | None
    """The last line of its table; None until there are two."""
    created_at_s: float
    started_at_s: float | None
    ended_at_s: float | None


class Round(RoundSummary):
    """A round with everything about it."""

    config: JsonObject
    phases: list[Phase]
    rows: list[EvaluationRow]


# ---- policies and events ----------------------------------------------------------------------------


class PolicyModel(BaseModel):
    """A kept checkpoint."""

    id: str
    parent_id: str | None
    metadata: JsonObject
    created_at_s: float
    promoted: bool
    """The next round starts from it."""


class EventModel(BaseModel):
    """One event: `id` is the stream's event id, `kind` its event name."""

    id: int
    at_s: float
    subject: str
    """"round:3", "run:round-3-ppo", "task:…"."""
    kind: EventKind
    name: str
    data: JsonObject
