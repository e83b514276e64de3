"""The words of the trainer: one turn is the unit of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deskhand_agent.types import StopReason
from deskhand_sandbox.types import Image


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSample:
    """One turn: what the model was shown and the whole reply, ids exactly as sampled."""

    trajectory_id: str
    turn_index: int
    """From 0 within the trajectory."""
    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    images: tuple[Image, ...]
    """In the order of their placeholder runs in `prompt_ids`; with data."""
    behaviour_logprobs: tuple[float, ...]
    """Log-probabilities at sampling, one per reply id; zeros for demonstrations."""
    policy_update: int = 0
    """Updates the weights had seen that drew the reply."""
    old_logprobs: tuple[float, ...] = ()
    """The same by the trainer before the update, one per reply id; empty: the engine's serve as they are."""
    reward: float
    """Reward of the turn, every part included."""
    reward_parts: tuple[tuple[str, float], ...] = ()
    """("outcome", 1.0), ("process", 0.02), …: they add up to `reward`."""
    last: bool = False
    """The trajectory's last turn."""
    attempt: int = 0
    """At the task, from 0."""
    start: str = ""
    """Name of the state a demonstration began with (`start_name`); empty: unknown."""
    in_policy_loss: bool = True
    """False where only the critic learns from it."""
    in_value_loss: bool = True
    """False where only the policy learns from it."""
    policy_weights: tuple[float, ...] = ()
    """What each reply token counts in the policy loss; empty: 1 each."""
    replayed: bool = False
    """Drawn by an earlier policy."""
    beside: bool = False
    """Learned beside the iteration's own episodes: the mean of such turns is added to that of the others."""
    old_value: float = 0.0
    """V(s_h) at the last prompt token before the update."""
    old_values: tuple[float, ...] = ()
    """The token critic's V before each reply id; empty when only the turn critic is used."""
    advantage: tuple[float, ...] = ()
    """One per reply id; equal within the turn for turn-level methods."""
    returns: tuple[float, ...] = ()
    """Value target per reply id; equal within the turn for the turn critic."""


def last_attempt(turns: Sequence[TrainingSample]) -> tuple[TrainingSample, ...]:
    """Those of an episode's turns that are of its last attempt: in a success, the one that succeeded."""
    return tuple(turn for turn in turns if turn.attempt == turns[-1].attempt)


@dataclass(frozen=True, kw_only=True, slots=True)
class Conduct:
    """How one turn behaved, whatever came of it."""

    void: bool = False
    """The reply held no action."""
    mended: bool = False
    """It had to be mended before it could be read."""
    repeated: bool = False
    """It did what the turn before had done, which had changed nothing on the screen."""
    tokens: int = 0
    """Of the reply; 0 where its ids are not known."""
    longest: int = 0
    """Tokens it could have at most; 0 where that is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """A finished trajectory as the learner takes it."""

    trajectory_id: str
    task_id: str
    seed: int
    """Of the task: names the start state."""
    group_id: str | None = None
    """Shared by the episodes of one start state; None: compared with all of its task."""
    samples: tuple[TrainingSample, ...]
    """Its turns in order; rewards, values and advantages still at their defaults."""
    outcome: float
    """The verifier's score, 0 to 1."""
    success: bool
    stop_reason: StopReason
    environment_rewards: tuple[float, ...] = ()
    """`Step.reward` of each turn."""
    baseline: float = 0.0
    """What is usually earned, taken from returns that stand for advantages."""
    process_scores: tuple[float, ...] = ()
    """The process reward model's score of each turn; empty when there is none."""
    potentials: tuple[float, ...] = ()
    """Its value of each turn's state, and of the state after the last: 0 where the episode ended there; empty
    where there is none, or scores are taken."""
    answer: str | None = None
    """The right answer, where the task has it written down."""
    information_gains: tuple[float, ...] = ()
    """How much likelier each turn made the right answer; empty where nobody looked."""
    branch_of: str | None = None
    """Id of the trajectory it left; None where it began at the start."""
    shared_turns: int = 0
    """First turns it has from there."""
    turn_advantages: tuple[float, ...] = ()
    """Of each turn, by a critic of its own (ArCHer); empty without one."""
    after: TrainingSample | None = None
    """The state after the last turn of an episode that was cut off and paid nothing, with an empty reply: V
    is read there. None: it ended with that turn."""
    attempt_turns: int = 0
    """Turns of its last attempt, without those that wrote a summary: what a turn limit counts."""
    failed_attempts: tuple[tuple[int, float | None], ...] = ()
    """Of each attempt before the last the turn that it ended with, and what the verifier scored it; None:
    nobody knows."""
    conduct: tuple[Conduct, ...] = ()
    """How each turn behaved; empty where nobody looked."""
    void_turns: int = 0
    """Turns whose reply held no action."""
    questions: int = 0
    """Turns that asked the user."""
    unanswered: int = 0
    """Those of them that the user should have answered and did not."""
