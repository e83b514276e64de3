"""What goes over HTTP about datasets, lineage, process reward models and storage."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from deskhand_flywheel.lineage_node import LineageKind
from deskhand_flywheel.types import DatasetKind, OutcomeFilter
from deskhand_platform.api.models import Incoming, JsonObject


class DatasetModel(BaseModel):
    """A named, versioned selection of trajectories."""

    name: str
    version: int
    kind: DatasetKind
    trajectories: int
    successes: int
    created_at_s: float
    recipe: JsonObject
    """Rule, filter and sieve that chose them, and how many were left out by why."""


class DatasetDetail(DatasetModel):
    versions: list[int]
    """Of the same name, newest first."""
    trajectory_ids: list[str]
    """The first thousand."""


class RouteOrder(Incoming):
    """Episodes to be routed into datasets."""

    name: Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[\w./-]+$")] = "routed"
    """Of the datasets, before the name of the route."""
    rules: Annotated[str, Field(max_length=20_000)] = ""
    """YAML of routes, laid on the flywheel's own: {"sft": {"outcome": "success", "unique": true}}."""
    task_id: str | None = None
    policy_id: str | None = None
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    """All of these."""


class RoutedModel(BaseModel):
    """What a route takes."""

    dataset: str
    """NAME, or NAME@VERSION once it is made."""
    kind: DatasetKind
    trajectories: int
    left_out: dict[str, int]
    """Why -> how many."""
    sample: list[str]
    """Ids of some of them."""


class SelectionModel(BaseModel):
    """What a filter of trajectories lets through."""

    trajectories: int
    by_outcome: dict[OutcomeFilter, int]


class LineageModel(BaseModel):
    """Something, and what it came of: a tree."""

    kind: LineageKind
    name: str
    relation: str
    """What it was to the node above: "continued", "scored by", "learned from", "played in the run"."""
    details: JsonObject
    above: bool
    """Drawn before: its sources stand there."""
    cut: bool
    """So deep that its sources are not drawn: ask for its own lineage."""
    kept: bool
    """It is in the store."""
    sources: list[LineageModel]


class RoutingModel(BaseModel):
    """Where whole training episodes with a verdict went; one may be in several kinds of dataset."""

    episodes: int
    by_kind: dict[DatasetKind, int]
    unrouted: int


class ScorerModel(BaseModel):
    """Somebody, or something, that scored steps."""

    name: str
    scores: int
    trajectories: int
    mean: float
    last_at_s: float


class BinModel(BaseModel):
    """Scores of about one height, and what they should have said."""

    count: int
    mean_score: float
    mean_label: float


class QualityModel(BaseModel):
    """How good scores are on labelled steps."""

    steps: int
    settled: int
    """Labels that say whether the step helps or harms: what the AUC is over."""
    auc: float | None
    calibration_error: float | None
    """Expected calibration error."""
    brier: float | None
    bins: list[BinModel]


class CalibrationModel(BaseModel):
    """A process reward model as `deskhand prm calibrate` kept it."""

    policy_id: str
    scorer: str
    measured_on: str
    fitted: int
    before: QualityModel
    after: QualityModel
    kappa: float | None
    """Cohen's, with people."""
    marked: int
    created_at_s: float


class HeldModel(BaseModel):
    blobs: int
    bytes: int


class StorageModel(BaseModel):
    """What the store takes."""

    rows: dict[str, int]
    database_bytes: int
    models: HeldModel
    """Files of kept policies."""
    pictures: HeldModel
    """Everything else."""
    free_bytes: int | None
    """Where the home folder lies."""
    measured_at_s: float
    """It is measured at most once a minute."""
