"""What goes over HTTP about what people say of episodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from deskhand_flywheel.review_types import DisagreementKind
from deskhand_platform.api.models import Incoming
from deskhand_platform.api.trajectory_models import ActionModel, ImageRef
from deskhand_platform.states import ProposalState

LONGEST = 10_000
"""Characters of a reason or a note."""
LONGEST_ANSWER = 1000
"""Characters of what is said to an agent, which reads it at its later turns too."""


class MarkBody(Incoming):
    score: Annotated[float, Field(ge=0, le=1)]
    """1: good, 0: bad, or between."""
    reason: Annotated[str, Field(max_length=LONGEST)] = ""


class NoteBody(Incoming):
    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]


class MarkModel(BaseModel):
    """What one person thinks of one step, or of the whole episode."""

    annotator: str
    step_index: int | None
    """None: of the episode."""
    score: float
    reason: str


class NoteModel(BaseModel):
    """What one person thought aloud about a step."""

    id: str
    trajectory_id: str
    step_index: int
    author: str
    text: str
    created_at_s: float
    edited_at_s: float | None


class Annotations(BaseModel):
    """Everything people said of one episode, by step."""

    marks: list[MarkModel]
    notes: list[NoteModel]


class SideModel(BaseModel):
    """One side of a disagreement."""

    scorer: str
    """"verifier", or a scorer's name."""
    score: float
    rationale: str | None


class FoundByModel(BaseModel):
    """The rule that put an entry into the queue."""

    threshold: float
    """The sides are so far apart, or farther."""
    weight: float
    """Times their distance it is the strength."""
    last_steps: int
    """Whose mean score stood for how the episode came out."""


class ReviewItem(BaseModel):
    """A step, or an episode, that a person should look at."""

    trajectory_id: str
    step_index: int | None
    """None: the whole episode."""
    kind: DisagreementKind
    strength: float
    """0 to 1; the queue is ordered by it."""
    sides: list[SideModel]
    """The two that disagree, the lower score first."""
    task_id: str
    instruction: str
    found_at_s: float
    found_by: FoundByModel | None
    """None: by a version that kept no rules."""
    resolved_by: list[str]
    """Annotators who have marked it."""


class ReviewRulesBody(Incoming):
    """What is to count as a disagreement."""

    rules: Annotated[str, Field(max_length=20_000)] = ""
    """YAML laid on the flywheel's own: {"verifier_judge": {"threshold": 0.4}}; empty: those alone."""


class ReviewRulesModel(BaseModel):
    """What counts as a disagreement where nobody says otherwise."""

    rules: str
    """YAML, whole."""
    set_by: str | None
    """None: nobody has changed them, they are the flywheel's own."""
    set_at_s: float | None


class ReviewOrder(Incoming):
    """Whose disagreements are to be found."""

    rules: Annotated[str, Field(max_length=20_000)] = ""
    """YAML of what counts as one this once, laid on the store's own: {"people": {"threshold": 0.4}}."""
    task_id: str | None = None
    policy_id: str | None = None
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    """All of these."""


class ReviewsFound(BaseModel):
    """What the queue now holds of the episodes that were looked at."""

    entries: int
    """Marked ones too."""


class PairModel(BaseModel):
    """How far two annotators agree."""

    first: str
    second: str
    steps: int
    """That both marked."""
    agreed: float
    """Share of these that both marked good, or both bad."""
    kappa: float | None
    """Cohen's; None where both say always the same."""


class AgreementModel(BaseModel):
    """How far all annotators agree."""

    sources: list[str]
    """Names of the scorers."""
    steps: int
    """That two or more marked."""
    marks: int
    """Of those steps."""
    alpha_good: float | None
    """Krippendorff's, of good and bad; None without two different marks to compare."""
    alpha_score: float | None
    """Krippendorff's with the interval metric, of the scores."""
    pairs: list[PairModel]


class ProposalModel(BaseModel):
    """What a policy is about to do in a live sandbox, for a person to accept or replace."""

    id: str
    trajectory_id: str
    step_index: int
    instruction: str
    image: ImageRef
    """What is on the screen; points count its pixels."""
    text: str
    """The policy's reply, exactly as sampled."""
    thought: str | None
    actions: list[ActionModel]
    """Empty where the reply held none."""
    asks: str | None
    """The question, where the actions ask the user: empty where they only call, None where they do not."""
    asked_at_s: float
    answer_by_s: float
    """Unix time after which the policy has its way."""
    state: ProposalState
    answered_by: str | None


class ProposalAnswer(Incoming):
    """A person's word on it."""

    verdict: Literal["accepted", "replaced"]
    reply: Annotated[str, Field(max_length=LONGEST)] = ""
    """What to do in its place, in the agent's grammar, thoughts first: "<think>…</think> click(…)"."""
    answer: Annotated[str, Field(max_length=LONGEST_ANSWER)] = ""
    """Said to what is asked, where that is accepted; empty: the task's details answer, if they can."""
    reason: Annotated[str, Field(max_length=LONGEST)] = ""
