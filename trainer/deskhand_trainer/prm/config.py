"""What training a process reward model can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from deskhand_agent.precision import Device
from deskhand_trainer.config_parsing import bounds

Source: TypeAlias = Literal["monte-carlo", "human", "judge", "outcome"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelConfig:
    """Labelling steps by Monte-Carlo continuation with the policy the run starts from."""

    tasks: tuple[str, ...]
    """Whose episodes; held-out tasks may be among them, to measure on."""
    runs: tuple[str, ...] = ()
    """Only episodes of these runs; none: of all."""
    continuations: int = field(default=8, metadata=bounds(1, 100_000))
    """From each state of an episode."""
    temperature: float = field(default=1.0, metadata=bounds(0, 10))
    max_tokens: int = field(default=24, metadata=bounds(1, 4096))
    void_limit: int = field(default=1, metadata=bounds(1))
    """Replies in a row without an action that end a continuation."""
    decision_s: float = field(default=120.0, metadata=bounds(120))
    """Longest wait for one reply, others of its batch included."""
    max_steps: int = field(default=50, metadata=bounds(1))
    """Episodes of more are left out."""
    max_trajectories: int = field(default=512, metadata=bounds(1))
    """Of each of the runs, newest first."""
    concurrency: int = field(default=8, metadata=bounds(1, 512))
    """Episodes labelled at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreConfig:
    """Training the process reward model, and scoring with it."""

    labels: tuple[Source, ...] = ("outcome",)
    """Who says how good steps are: continuations, people, judging models, or how episodes ended; the first
    that speaks of a step counts."""
    labeller: str = ""
    """Whose Monte-Carlo labels, by name and version; none: the latest of each step."""
    judge: str = ""
    """Whose labels of judging models, judge:MODEL@DIGEST; none: the latest of each step."""
    inexact: bool = False
    """Also Monte-Carlo labels from states that looked other than recorded."""
    runs: tuple[str, ...] = ()
    """Trained on episodes of these runs alone; none: of all."""
    leave_out: tuple[str, ...] = ()
    """Tasks that are not trained on, beside those held out for good."""
    epochs: int = field(default=3, metadata=bounds(1, 1000))
    lr: float = field(default=1e-3, metadata=bounds(0, 1))
    """Of the head."""
    dropout: float = field(default=0.5, metadata=bounds(0, 0.95))
    """Share of the numbers of each step's states that the head is not shown as it learns; .8 where there are
    few labels and noisy ones, as from continuations."""
    trunk_lr: float = field(default=0.0, metadata=bounds(0, 1))
    """Of the model below the head; 0: it stays as it is, and its states are computed once."""
    vision: bool = False
    """Whether the vision tower learns with the rest of that model; else each picture is encoded once.
    Wants a `trunk_lr`."""
    rationale_weight: float = field(default=0.0, metadata=bounds(0, 100))
    """Weight of the cross entropy of rationales' tokens, beside the scores'; wants a `trunk_lr`."""
    minibatch: int = field(default=64, metadata=bounds(1, 65536))
    microbatch: int = field(default=16, metadata=bounds(1, 65536))
    """Steps in a forward pass where the model below is trained; changes memory, never the gradient."""
    discount: float = field(default=0.95, metadata=bounds(0, 1))
    """Of outcomes: a step k turns before a success is labelled discount^k; every step of a failure 0."""
    max_trajectories: int = field(default=512, metadata=bounds(2))
    """Labelled episodes to read, newest first; scored are all."""
    held_out: float = field(default=0.2, metadata=bounds(0.05, 0.5))
    """Share of the tasks kept from training, for the reported figures and for calibration; where there are
    few tasks, of their start states."""
    minutes: float = field(default=5.0, metadata=bounds(0))
    """Of learning, after which no further minibatch begins; before it the states are computed."""
    device: Device = "auto"
    """Where it learns and scores; "auto": the GPU where there is one."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.labels:
            raise ValueError("labels: name at least one source")
        if self.judge and "judge" not in self.labels:
            raise ValueError("judge: says whose scores are labels, and labels names no judge")
        if self.judge and not self.judge.startswith("judge:"):
            raise ValueError("judge: give the whole name of a judge's scores, judge:MODEL@DIGEST")
        for name, wanted in (("rationale_weight", self.rationale_weight > 0), ("vision", self.vision)):
            if wanted and self.trunk_lr == 0:
                raise ValueError(f"{name} has nothing to train while trunk_lr is 0: give both")
