"""The words of an agent: context, decision, step, trajectory, and where steps are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from deskhand_agent.errors import ActionSyntaxError, UnknownAction
from deskhand_agent.inference import Completion, CompletionRequest
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.types import Action, Observation, Outcome, Split, Task

SCHEMA_VERSION = 1
"""Version of the recorded form of `Trajectory` and `Step`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What a policy may look at to decide one turn."""

    task: Task
    instruction: str
    steps: tuple[Step, ...]
    """Earlier turns, oldest first; the policy's memory chooses what of them it shows the model."""
    observation: Observation
    """What is on the screen now."""
    notes: str = ""
    """`TrajectoryStart.notes`."""
    trajectory_id: str = ""
    """Of the episode it is for; empty where there is none."""
    sandbox: Sandbox | None = None
    """Only for scripted oracles, which read the state behind the screen; model policies never touch it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """A plan, and what a frozen executor made of it."""

    plan: str
    """What the agent wanted done, which is all the executor was told."""
    policy_id: str
    """Of the executor."""
    text: str
    """Its reply, exactly as sampled."""
    completion: Completion | None = None
    """The reply as ids; None when they are unknown."""


class Fault(StrEnum):
    """Why a reply holds no action that can be tried: the agent's doing, a void turn."""

    SYNTAX = "syntax"
    """Nothing in it can be read as a call of an action."""
    UNKNOWN_ACTION = "unknown_action"
    """It calls for an action that there is not, or not with these arguments."""
    REFUSED = "refused"
    """The model will not do it."""
    CUT_OFF = "cut_off"
    """It ended at the longest length before the action."""


def fault_of(error: ActionSyntaxError) -> Fault:
    """The kind of fault that a reply which could not be read has."""
    return Fault.UNKNOWN_ACTION if isinstance(error, UnknownAction) else Fault.SYNTAX


class ReviewVerdict(StrEnum):
    """What a person made of what the model was about to do."""

    ACCEPTED = "accepted"
    REPLACED = "replaced"
    """They did something else in its place."""
    STEERED = "steered"
    """They held the controls: the model was not asked, or about a part of the screen while they saw all."""
    UNANSWERED = "unanswered"
    """Nobody said anything in time: the model had its way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What a model would have done."""

    actions: tuple[Action, ...]
    """Empty where its reply held none."""
    text: str
    """The reply as text, exactly as sampled."""
    thought: str | None = None
    completion: Completion | None = None
    """The reply as ids; None when they are unknown. What it was shown is `Decision.request`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """A person looked at a turn before it was carried out."""

    verdict: ReviewVerdict
    by: str | None
    """Who; None where nobody answered."""
    reason: str = ""
    waited_s: float
    """For the person; the episode's own time stood still."""
    proposed: Proposal | None = None
    """What they replaced; None where they did not."""
    answer: str = ""
    """What they said to the question they accepted (`AskUser`), in the place of the episode's user; empty
    where they said nothing, or nothing was asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A reply to the same request that was not acted."""

    actions: tuple[Action, ...]
    """Empty where none could be read."""
    text: str
    completion: Completion | None = None
    """The reply as ids; None when they are unknown."""
    rating: float | None = None
    """As `Decision.rating`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One turn of the agent."""

    actions: tuple[Action, ...]
    """In order; empty for a void turn (no parsable action)."""
    text: str
    """The reply as text, exactly as sampled; where it is no text but items of an API, those as JSON."""
    thought: str | None = None
    summary: str | None = None
    """What the agent wrote in place of the turns before, where it was asked for that and for no action."""
    execution: Execution | None = None
    """Where the agent plans and another policy acts: the text is the plan, the actions are the other's."""
    request: CompletionRequest | None = None
    """What the model was shown, as ids; None when ids are unknown."""
    completion: Completion | None = None
    """What it replied, as ids; None when ids are unknown."""
    trainable: bool = False
    """Both of the above are known and exact: the turn may be trained on without re-tokenising."""
    error: str | None = None
    """Why no action could be read from the text; None when one could."""
    fault: Fault | None = None
    """The kind of that error; None where there is none, and in turns recorded before there were kinds."""
    repairs: tuple[str, ...] = ()
    """What had to be mended before the text could be read, by name."""
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    """What an endpoint counted: "prompt_tokens" (of which "cached_tokens"), "completion_tokens", "usd"; how
    many requests came to nothing before this reply, by the name of their `Trouble`; "waited_s" for its rate
    limits and between requests. Of all replies, where several were drawn, and those that made no sense; with
    those of a user and of a self-check that the turn asked."""
    rating: float | None = None
    """Where several replies were drawn: the process reward model's score of this one, or the share of them
    that agrees with it; None where nobody compared."""
    others: tuple[Candidate, ...] = ()
    """What else was drawn for the turn."""
    review: Review | None = None
    """What a person made of it first; None where nobody was asked. Where they replaced it, the actions, the
    thought and the text are theirs."""

    @property
    def void(self) -> bool:
        """An action was asked for, and none given."""
        return not self.actions and self.summary is None


class Policy(Protocol):
    """Decides what to do next."""

    id: str
    """Names the policy in every record."""

    async def act(self, context: Context) -> Decision:
        """Decide one turn.

        Raises:
            InferenceError: the model did not reply.
            OracleError: a scripted policy is lost.
        """
        ...


@runtime_checkable
class Oracle(Policy, Protocol):
    """A scripted policy that reads the state behind the screen: it alone is given `Context.sandbox`."""

    reads_state: bool
    """True."""


@runtime_checkable
class Patient(Policy, Protocol):
    """A policy whose own settings say how long it waits for its model."""

    @property
    def longest_s(self) -> float:
        """Seconds a decision may take by them."""
        ...


def patience_s(policy: Policy) -> float:
    """Seconds a decision may take by a policy's own settings; 0: they say nothing."""
    return policy.longest_s if isinstance(policy, Patient) else 0.0


@runtime_checkable
class TreeReader(Policy, Protocol):
    """A policy that may be shown accessibility trees: its screens are then observed with them."""

    @property
    def reads_tree(self) -> bool:
        """Whether it is."""
        ...


def reads_tree(policy: Policy) -> bool:
    """Whether a policy is shown accessibility trees."""
    return isinstance(policy, TreeReader) and policy.reads_tree


@runtime_checkable
class Connected(Policy, Protocol):
    """A policy behind an API: to be closed when it is done with."""

    async def close(self) -> None:
        """Close the connections."""
        ...


class StopReason(StrEnum):
    """Why an episode ended."""

    TERMINATED = "terminated"
    """The environment ended it."""
    FINISHED = "finished"
    """The agent said it is done."""
    GAVE_UP = "gave_up"
    """The agent said it cannot be done."""
    VOID_LIMIT = "void_limit"
    """Too many replies in a row held no action."""
    TURN_LIMIT = "turn_limit"
    """Truncated."""
    TIME_LIMIT = "time_limit"
    """Truncated."""
    DOOMED = "doomed"
    """A watcher saw that nothing would come of it."""
    CANCELLED = "cancelled"
    """Somebody stopped it."""
    INFRASTRUCTURE = "infrastructure"
    """`Trajectory.failure` says what broke."""

    @property
    def truncated(self) -> bool:
        """Cut off: the value of the last state still counts."""
        return self in (StopReason.TURN_LIMIT, StopReason.TIME_LIMIT)


class Failure(StrEnum):
    """What broke that was not the agent: excluded from reward, counted, retried but for a task refused."""

    SANDBOX_DIED = "sandbox_died"
    SANDBOX_TIMEOUT = "sandbox_timeout"
    SANDBOX_LEASE = "sandbox_lease"
    SANDBOX_SETUP = "sandbox_setup"
    TASK_REFUSED = "task_refused"
    """Nothing can be set up, or judged, as the task says it: no further attempt mends that."""
    MODEL_TIMEOUT = "model_timeout"
    MODEL_ERROR = "model_error"
    VERIFIER = "verifier"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimings:
    """Where the time of a step went, all in milliseconds."""

    model_ms: float
    """Waiting for the decision, but not for a person's word on it or for a turn at a rate limit."""
    act_ms: float
    """Carrying it out, settle time included."""
    settle_ms: float
    """Waiting for the screen to stand still."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One turn: seen, decided, rewarded."""

    index: int
    """From 0."""
    observation: Observation
    """What was on the screen when the turn was decided."""
    decision: Decision
    reward: float
    """Environment reward of the turn; the outcome of the episode is not in it."""
    action_error: str | None = None
    """Why an action could not be carried out; None when all were."""
    answer: str | None = None
    """What the user replied to `AskUser`; None otherwise."""
    attempt_score: float | None = None
    """The verifier's score of the attempt that failed with this turn; None where none did, or nobody asked
    the verifier."""
    timings: StepTimings
    finished_at_s: float
    """Unix time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryStart:
    """What is known when an episode begins; written before its first step."""

    id: str
    """UUID7 hex: sorts by time."""
    task: Task
    instruction: str
    policy_id: str
    policy_update: int
    group_id: str | None
    """Episodes of one task and seed sampled together share it; None for a single one."""
    split: Split
    started_at_s: float
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Who asked for it: {"run": …, "round": …, "purpose": "demonstration" | "rollout" | "evaluation"}."""
    notes: str = ""
    """What the agent was told of earlier episodes at the same place; empty where it keeps no notebook."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryEnd:
    """What is known when an episode has ended; written after its last step."""

    final_observation: Observation | None
    """The screen after the last action (a truncated episode bootstraps there); None after a failure."""
    outcome: Outcome | None
    """None after a failure or a cancellation."""
    stop_reason: StopReason
    failure: Failure | None
    failure_detail: str = ""
    ended_at_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """One whole episode."""

    start: TrajectoryStart
    steps: tuple[Step, ...]
    end: TrajectoryEnd | None
    """None while it runs, or when its process died."""

    @property
    def id(self) -> str:
        return self.start.id

    @property
    def terminated(self) -> bool:
        """Ended by environment or agent: nothing of value lies beyond."""
        return self.end is not None and self.end.stop_reason in (
            StopReason.TERMINATED,
            StopReason.FINISHED,
            StopReason.GAVE_UP,
        )

    @property
    def truncated(self) -> bool:
        """Cut off by a limit: bootstrap from the final observation."""
        return self.end is not None and self.end.stop_reason.truncated


class Watcher(Protocol):
    """Looks over one episode's shoulder."""

    async def doomed(self, attempt: Sequence[Step]) -> bool:
        """Whether to end the attempt after the last of its turns so far: nothing would come of it."""
        ...


class StepSink(Protocol):
    """Where the episode loop writes, step by step; what it acknowledged survives the process."""

    async def begin(self, start: TrajectoryStart) -> None: ...

    async def step(self, trajectory_id: str, step: Step) -> None: ...

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> None: ...
