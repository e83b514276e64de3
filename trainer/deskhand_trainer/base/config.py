"""What the pretraining of a base model can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from deskhand_agent.precision import Device, Precision
from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseModelConfig:
    """Sizes of the model; it speaks the vocabulary "pages" and sees pictures up to 448x448."""

    patch_px: int = field(default=8, metadata=bounds(4, 32))
    vision_width: int = field(default=128, metadata=bounds(16, 4096))
    vision_depth: int = field(default=4, metadata=bounds(1, 64))
    vision_heads: int = field(default=4, metadata=bounds(1, 64))
    text_width: int = field(default=192, metadata=bounds(16, 4096))
    text_depth: int = field(default=5, metadata=bounds(1, 64))
    text_heads: int = field(default=4, metadata=bounds(1, 64))
    text_mlp: int = field(default=512, metadata=bounds(16, 16384))
    grid_px: int = field(default=4, metadata=bounds(1, 32))
    """Coordinates are rounded to multiples of this, one token each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainConfig:
    """A base model from nothing, or a tiny one further: pages drawn, read, pointed at, told about, worked."""

    model: BaseModelConfig = field(default_factory=BaseModelConfig)
    """Sizes, where the run starts from no policy."""
    vision_depth: int = field(default=0, metadata=bounds(0, 64))
    """Where it starts from a policy: blocks of its vision, up to twice those it has; new ones change nothing
    at first. 0: as many as it has."""
    pages: int = field(default=12_000, metadata=bounds(1, 10_000_000))
    """Pages of 160x210 drawn from train seeds."""
    wide_pages: int = field(default=3_000, metadata=bounds(0, 10_000_000))
    """Pages of 320x240."""
    large_pages: int = field(default=600, metadata=bounds(0, 10_000_000))
    """Pages of 448x448."""
    change_pages: int = field(default=1_600, metadata=bounds(0, 10_000_000))
    """Pages of 160x210 on which four actions are taken, to be asked what changed and what was done."""
    wide_change_pages: int = field(default=400, metadata=bounds(0, 10_000_000))
    """The same of 320x240."""
    large_change_pages: int = field(default=80, metadata=bounds(0, 10_000_000))
    """The same of 448x448."""
    seed_offset: int = field(default=0, metadata=bounds(0, 100_000_000))
    """Train seeds passed over: a stage that goes on from another learns more from pages it did not see."""
    held_out_pages: int = field(default=64, metadata=bounds(1, 100_000))
    """Of each size, from validation seeds, for the figures; a quarter as many are worked."""
    concurrency: int = field(default=8, metadata=bounds(1, 256))
    """Browsers' tabs that draw pages side by side."""
    reading_steps: int = field(default=4_000, metadata=bounds(0, 10_000_000))
    """Optimizer steps that train vision alone to read; 0 for a model that sees already. Dense labels help
    such a one on where its perception heads lie beside it, as pretraining leaves them."""
    asking_steps: int = field(default=10_000, metadata=bounds(0, 10_000_000))
    """Optimizer steps that train everything on questions."""
    minutes: float = field(default=0.0, metadata=bounds(0))
    """Wall clock of training, figures and earlier lives included, without drawing: it also ends when this is
    spent, and the schedule follows whichever limit is nearer. Where a machine is lent for so long, give
    `asking_steps` more than fit. 0: no limit."""
    strips_per_step: int = field(default=24, metadata=bounds(1, 4096))
    """Strips of pages in a reading step."""
    pages_per_step: int = field(default=8, metadata=bounds(1, 4096))
    """Pages of 160x210 in an asking step; fewer of larger ones, one a part at least."""
    questions_per_page: int = field(default=24, metadata=bounds(1, 64))
    """Questions packed behind one encoded picture of 160x210, or behind the two of a change; more behind
    larger ones, as many in a step. Twice as many make a step a quarter longer."""
    experience: bool = False
    """Ask of policies' failed episodes, too, which action led from one picture to the next: of those on train
    seeds in the store, and where the run belongs to a round, of that round."""
    change_share: float = field(default=0.18, metadata=bounds(0, 1))
    """Of the asking steps, those about changes and experience; none where there are neither."""
    elsewhere: float = field(default=0.0, metadata=bounds(0, 1))
    """Share of the pages asked about that are shown moved by a few pixels, some of them smaller or paler."""
    sole_roles: bool = False
    """Call a thing that is the only one of its role by the role alone, too ("the checkbox"), on training
    pages and on those of the figures."""
    demonstration_tasks: tuple[str, ...] = ()
    """Demonstrations of these tasks in the store are imitated in between: what a model sees and what it does
    with it are then learned at once, neither forgotten over the other."""
    demonstrations_per_task: int = field(default=512, metadata=bounds(1, 100_000))
    """At most, the oldest first."""
    demonstration_share: float = field(default=0.3, metadata=bounds(0, 0.9))
    """Of the asking steps, those that imitate; none where there are no demonstrations."""
    turns_per_step: int = field(default=32, metadata=bounds(1, 65536))
    """Turns of demonstrations in such a step."""
    matrix_lr: float = field(default=0.01, metadata=bounds(0, 1))
    """Peak rate of Muon, for the matrices inside layers."""
    lr: float = field(default=3e-3, metadata=bounds(0, 1))
    """Peak rate of AdamW, for everything else."""
    warmup_steps: int = field(default=50, metadata=bounds(0))
    decay_share: float = field(default=0.35, metadata=bounds(0, 1))
    """Both rates fall linearly to zero over this last share of the run, in steps or in `minutes`."""
    max_grad_norm: float = field(default=5.0, metadata=bounds(0))
    figures_every: int = field(default=500, metadata=bounds(1))
    """Steps between figures on held-out pages."""
    checkpoint_every_s: float = field(default=60.0, metadata=bounds(0))
    threads: int = field(default=2, metadata=bounds(1, 1024))
    parts: int = field(default=2, metadata=bounds(1, 64))
    """A step's pages are learned in so many parts, one on each thread; what is learned depends on the parts,
    not on the threads."""
    precision: Precision = "auto"
    """Of multiplications; "auto": bfloat16 on a GPU, and where the processor multiplies it faster (AMX,
    AVX-512 BF16)."""
    device: Device = "auto"
    """Where it learns; "auto": on the GPU where there is one."""
    workers: int = field(default=0, metadata=bounds(0, 256))
    """Processes that prepare steps ahead, for a GPU: it waits for pages and questions otherwise. What is
    learned does not depend on them. 0: who learns prepares."""
    seed: int = 0
    """Of weights, order and questions."""
