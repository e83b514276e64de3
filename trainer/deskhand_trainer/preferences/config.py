"""What learning from pairs can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_agent.precision import Device, Precision
from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class PreferenceConfig:
    """Pairs out of the store, and how they are learned."""

    tasks: tuple[str, ...] = ("miniwob/click-collapsible-nodelay",)
    """Whose episodes; held-out tasks are refused."""
    method: Literal["tdpo", "refuel"] = "tdpo"
    """"tdpo": the whole of a success against the whole of a failure. "refuel": two replies to one
    state, where two episodes of a start first part, against what the rest of each earned."""
    pairs: Literal["outcomes", "corrections", "others"] = "outcomes"
    """"outcomes": as the method has it. "corrections": what a person did in place of what a policy proposed,
    against that. "others": the reply that was taken of several drawn for a turn, against one rated lower."""
    margin: float = field(default=0.1, metadata=bounds(0, 1))
    """Of "others": how much lower, at least."""
    pairs_per_task: int = field(default=512, metadata=bounds(1))
    """At most."""
    beta: float = field(default=0.1, metadata=bounds(0.0001, 100))
    """Of TDPO: how much log-probability a preference is worth."""
    eta: float = field(default=1.0, metadata=bounds(0.0001, 100))
    """Of REFUEL: how much a return is worth in log-probability."""
    epochs: int = field(default=1, metadata=bounds(1, 1000))
    minibatch: int = field(default=16, metadata=bounds(1))
    """Pairs per optimizer step."""
    microbatch: int = field(default=32, metadata=bounds(1))
    """Turns per forward pass; changes memory, never the gradient."""
    lr: float = field(default=5e-5, metadata=bounds(0, 1))
    max_grad_norm: float = field(default=1.0, metadata=bounds(0))
    temperature: float = field(default=1.0, metadata=bounds(0.05, 10))
    """At which the episodes were drawn."""
    checkpoint_every_s: float = field(default=30.0, metadata=bounds(0))
    threads: int = field(default=2, metadata=bounds(1, 1024))
    precision: Precision = "float32"
    """Of multiplications; "auto": bfloat16 on a GPU, and where the processor multiplies it faster (AMX,
    AVX-512 BF16)."""
    device: Device = "auto"
    """Where it learns; "auto": on the GPU where there is one."""
    seed: int = 0
    """Of the order."""
