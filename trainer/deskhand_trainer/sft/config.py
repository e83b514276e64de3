"""What the warm start can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_agent.memory import Screens, Strategy
from deskhand_agent.precision import Device, Precision
from deskhand_trainer.config_parsing import bounds

PERCEPTION_TASKS = (
    "miniwob/click-button",
    "miniwob/click-button-sequence",
    "miniwob/click-collapsible-nodelay",
    "miniwob/click-link",
    "miniwob/click-test-2",
    "miniwob/click-tab",
    "miniwob/click-dialog-2",
    "miniwob/click-option",
    "miniwob/click-checkboxes",
    "miniwob/focus-text",
    "miniwob/enter-text",
    "miniwob/login-user",
)
"""Tasks whose train-split pages the eyes are trained on; held-out ones among them are refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SftConfig:
    """The warm start of a policy."""

    tasks: tuple[str, ...] = ("miniwob/click-collapsible-nodelay",)
    """Demonstrations of these tasks are learned."""
    learn_from: tuple[Literal["demonstration", "rollout"], ...] = ("demonstration",)
    """Whose successful episodes: oracles', or policies' own (rejection fine-tuning)."""
    demonstrations_per_task: int = field(default=128, metadata=bounds(0, 100_000))
    """Episodes taken from the store, at most, shared among `learn_from`: the first that oracles played, the
    newest of policies; few, so that learning is left to do."""
    hard_tasks: tuple[str, ...] = ()
    """Those of `tasks` of which more are taken."""
    hard_demonstrations: int = field(default=512, metadata=bounds(1, 100_000))
    """Of each of these, at most."""
    next_states: int = field(default=0, metadata=bounds(0, 100_000))
    """Early experience beside what is imitated: of each of `tasks` so many turns, at most, of anybody's
    episodes, failures too, of which it learns to say what came of them."""
    reflections: int = field(default=0, metadata=bounds(0, 100_000))
    """So many turns of successes where a failure of the same start did something else on the same screen: it
    learns to say why that was no use, as its thought, and to do what succeeded."""
    screens: Screens | None = None
    """What the policy is shown of a screen, from now on; None: what it was (a fresh one: the picture)."""
    tree_bytes: int | None = field(default=None, metadata=bounds(0, 10_000_000))
    """Most bytes of a tree among `screens`, from now on; 0: all; None: what it was (a fresh one: 8192)."""
    screenshots: int | None = field(default=None, metadata=bounds(1, 64))
    """How many of the latest screens it is shown whole, from now on; None: what it was (a fresh one: 1)."""
    memory: Strategy | None = None
    """What it is shown in place of turns no longer shown, from now on; None: what it was (a fresh one:
    nothing, a "window"). A "constant" one learns the demonstrations' thoughts too."""
    summary_after: int | None = field(default=None, metadata=bounds(0, 1000))
    """Turns after which it is asked to write into it, from now on; None: what it was (a fresh one: 0)."""
    perception_tasks: tuple[str, ...] = PERCEPTION_TASKS
    """Empty: no perception stage (a model that can see already)."""
    perception_pages: int = field(default=2400, metadata=bounds(0, 1_000_000))
    """Pages looked at, spread over `perception_tasks`."""
    perception_offset: int = field(default=0, metadata=bounds(0, 100_000_000))
    """Train seeds of each of them that are passed over: those a base model saw teach it less."""
    reading_steps: int = field(default=3500, metadata=bounds(0, 10_000_000))
    """Optimizer steps that train vision alone to read, before pointing joins in; 0 for a model that sees."""
    pointing_steps: int = field(default=1500, metadata=bounds(0, 10_000_000))
    """Optimizer steps that train everything on pointing questions."""
    strips_per_step: int = field(default=24, metadata=bounds(1, 4096))
    """Strips of pages in a reading step."""
    questions_per_page: int = field(default=8, metadata=bounds(1, 64))
    """Pointing questions packed behind one encoded picture."""
    pages_per_step: int = field(default=8, metadata=bounds(1, 4096))
    """Pages in a pointing step; of larger ones than the smallest fewer."""
    cloning_epochs: int = field(default=6, metadata=bounds(0, 10_000))
    freeze: Literal["nothing", "vision"] = "nothing"
    """While cloning, and asking beside it; "vision": the vision tower stays as it is."""
    question_share: float = field(default=0.0, metadata=bounds(0, 0.9))
    """Of the steps while cloning, those that ask about perception pages instead: what a model sees is not
    forgotten over what it imitates."""
    minibatch: int = field(default=16, metadata=bounds(1, 65536))
    """Turns per optimizer step while cloning."""
    matrix_lr: float = field(default=0.01, metadata=bounds(0, 1))
    """Peak rate of Muon, for the matrices inside layers."""
    lr: float = field(default=3e-3, metadata=bounds(0, 1))
    """Peak rate of AdamW, for everything else."""
    cloning_lr_scale: float = field(default=0.3, metadata=bounds(0, 10))
    """Both rates while cloning, against those of perception."""
    warmup_steps: int = field(default=30, metadata=bounds(0))
    decay_share: float = field(default=0.35, metadata=bounds(0, 1))
    """Both rates fall linearly to zero over this last share of a stage."""
    max_grad_norm: float = field(default=5.0, metadata=bounds(0))
    held_out: float = field(default=0.1, metadata=bounds(0.01, 0.5))
    """Share of pages and of demonstrations kept out of training, for the reported figures."""
    figures_every: int = field(default=0, metadata=bounds(0))
    """Steps of a stage between figures on what is held out, which are the learning curve; 0: at the end of
    each stage alone."""
    checkpoint_every_s: float = field(default=30.0, metadata=bounds(0))
    threads: int = field(default=2, metadata=bounds(1, 1024))
    parts: int = field(default=2, metadata=bounds(1, 64))
    """A cloning step is learned in so many parts, one on each thread; what is learned depends on the parts,
    not on the threads."""
    precision: Precision = "float32"
    """Of multiplications; "auto": bfloat16 on a GPU, and where the processor multiplies it faster (AMX,
    AVX-512 BF16)."""
    device: Device = "auto"
    """Where it learns; "auto": on the GPU where there is one."""
    seed: int = 0
    """Of order, questions and heads."""

    def __post_init__(self) -> None:
        asked = [name for name in ("next_states", "reflections") if getattr(self, name)]
        if asked and not self.cloning_epochs:
            raise ValueError(
                f"{asked[0]}: learned while cloning, and cloning_epochs is 0: leave one of them out"
            )
