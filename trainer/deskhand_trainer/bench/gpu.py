"""The learner's step on a GPU: how fast, how much of the GPU, how much memory, and whether the numbers agree.

    python -m deskhand_trainer.bench.gpu [--device cuda] [--sizes tiny half-billion] [--repeats 5]

A step is an update of turn-PPO on random turns, each with a picture, a prompt and a reply, by the learner as
a run has it: packed, in bfloat16 with float32 weights and moments. Weights are random; speed does not ask for
better. Parity is of the gradients of one small batch with those in float32 on the processor.

Model FLOPs, forward and backward, counted from the shapes: 6 per weight of the text's layers and token, per
weight of the vision blocks and patch, per weight of what joins them and picture token, per weight of the
output matrix and reply token; attention 6·layers·width·Σ length² for text (causal: half is never looked at)
and 12·layers·width·Σ patches² for vision. Passes made again (checkpointing) count nothing. MFU is that over
the seconds and the GPU's dense bfloat16 peak as its maker states it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from PIL import Image as Picture
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle, build_tiny
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.precision import Device, Precision, device_named
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.pictures import encoded
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.learner import Learner
from deskhand_trainer.results import Figure, write_figures, write_results_page
from deskhand_trainer.types import TrainingSample
from deskhand_trainer.vlm import VlmActorCritic

COMMAND = "python -m deskhand_trainer.bench.gpu"
PEAK_FLOPS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12}
"""Dense bfloat16 of the SXM forms, by NVIDIA's data sheets."""
PARITY_GOALS = {"float32": "<= 0.001", "bfloat16": "<= 0.1"}
HALF_BILLION = TinyConfig(
    vision_width=768, vision_depth=12, vision_heads=12, text_width=1024, text_depth=30, text_heads=16,
    text_mlp=3072, max_side_px=512,
)  # fmt: skip
REPLY = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """What is measured."""

    model: TinyConfig
    turns: int
    """Of a step."""
    microbatch: int
    words: int
    """Of a prompt."""
    parity_turns: int = 4


SIZES = {
    "tiny": Size(model=TinyConfig(), turns=512, microbatch=128, words=120),
    "half_billion": Size(model=HALF_BILLION, turns=64, microbatch=16, words=600),
}


def random_turns(bundle: ModelBundle, size: Size, count: int) -> list[TrainingSample]:
    """Turns with a picture of the largest size each, and random replies."""
    draw = torch.Generator().manual_seed(0)
    allowed = sorted(set(range(len(bundle.tokenizer))) - set(bundle.suppressed_ids.tolist()))
    samples: list[TrainingSample] = []
    for number in range(count):
        side = size.model.max_side_px
        pixels = torch.randint(256, (side, side, 3), generator=draw, dtype=torch.uint8)
        picture = encoded(Picture.fromarray(pixels.numpy()))
        words = Text(text="click " * size.words)
        message = PromptMessage(role="user", segments=(words, ImageSegment(image=picture)))
        prompt = tokenise_prompt(bundle, [message])
        chosen = torch.randint(len(allowed), (REPLY,), generator=draw).tolist()
        advantage = float(torch.randn((), generator=draw))
        samples.append(
            TrainingSample(
                trajectory_id=str(number), turn_index=0, prompt_ids=prompt.ids,
                reply_ids=tuple(allowed[i] for i in chosen), images=prompt.images,
                behaviour_logprobs=(-6.0,) * REPLY, reward=0.0, advantage=(advantage,) * REPLY,
                old_values=(0.0,) * REPLY, returns=(advantage,) * REPLY,
            )
        )  # fmt: skip
    return samples


def step_flops(bundle: ModelBundle, samples: Sequence[TrainingSample]) -> float:
    """Of one epoch over the samples, as this module's docstring counts them; vision per picture shown."""
    model: Any = bundle.model
    text, visual = model.model.language_model, model.model.visual
    lengths = [len(s.prompt_ids) + len(s.reply_ids) for s in samples]
    replies = sum(len(s.reply_ids) for s in samples)
    grids = [bundle.cache.grid(image) for s in samples for image in s.images]
    patches = [rows * columns for rows, columns in grids]
    joined = sum(patches) / bundle.images.merge**2
    text_config, vision_config = model.config.text_config, model.config.vision_config
    return float(
        6 * _weights(text.layers) * sum(lengths)
        + 6 * model.lm_head.weight.numel() * replies
        + 6 * _weights(visual.blocks) * sum(patches)
        + 6 * _weights([visual.merger]) * joined
        + 6 * text_config.num_hidden_layers * text_config.hidden_size * sum(n * n for n in lengths)
        + 12 * vision_config.depth * vision_config.hidden_size * sum(n * n for n in patches)
    )


def _weights(modules: Iterable[torch.nn.Module]) -> int:
    return sum(p.numel() for module in modules for p in module.parameters())


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """Of one size."""

    seconds: tuple[float, ...]
    """Of each step."""
    tokens: int
    """Of the language model, in a step."""
    flops: float
    peak_bytes: int | None
    """Of the device; None on a processor."""


def measure_steps(size: Size, device: torch.device, *, repeats: int, precision: Precision = "auto") -> Steps:
    """Time steps of the learner, after one that is not counted."""
    bundle = build_tiny(size.model).to(device)
    samples = random_turns(bundle, size, size.turns)
    learner = _learner(bundle, size.turns, size.microbatch, precision)
    flops = step_flops(bundle, samples)
    seconds: list[float] = []
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    for number in range(repeats + 1):
        began = time.perf_counter()
        learner.update(samples, lr=1e-5)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if number:
            seconds.append(time.perf_counter() - began)
    return Steps(
        seconds=tuple(seconds),
        tokens=sum(len(s.prompt_ids) + len(s.reply_ids) for s in samples),
        flops=flops,
        peak_bytes=torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
    )


def measure_parity(size: Size, device: torch.device, precision: Precision) -> tuple[float, float]:
    """How far loss and gradients on the device are from float32 on the processor.

    Returns:
        |Δ loss| over the loss's size, and ‖Δ gradient‖ / ‖gradient‖ over all weights.
    """
    loss, own = _reference(size)
    other_loss, other = _gradients(size, device, precision)
    apart = torch.stack([(other[name] - own[name]).norm() for name in own]).norm()
    whole = torch.stack([gradient.norm() for gradient in own.values()]).norm()
    return abs(other_loss - loss) / max(abs(loss), 1e-6), float(apart / whole)


@lru_cache(maxsize=1)
def _reference(size: Size) -> tuple[float, dict[str, Tensor]]:
    return _gradients(size, torch.device("cpu"), "float32")


def _gradients(size: Size, device: torch.device, precision: Precision) -> tuple[float, dict[str, Tensor]]:
    bundle = build_tiny(size.model).to(device)
    samples = random_turns(bundle, size, size.parity_turns)
    learner = _learner(bundle, size.parity_turns, size.parity_turns, precision)
    report = learner.update(samples, lr=0.0)
    named = learner.model.actor_parameters()
    found = {name: p.grad.float().cpu() for name, p in named if p.grad is not None}
    return report.policy_loss + report.value_loss, found


def _learner(bundle: ModelBundle, minibatch: int, microbatch: int, precision: Precision) -> Learner:
    config = PpoConfig(
        minibatch=minibatch, microbatch=microbatch, epochs=1, threads=1, max_grad_norm=0,
        aggregation="token", ratio="token", critic_lr=0.0, clip_low=1.0, clip_high=10.0,
    )  # fmt: skip
    return Learner(VlmActorCritic(bundle, precision=precision), config)


def figures(name: str, size: Size, device: torch.device, *, repeats: int) -> list[Figure]:
    """All of one size."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"
    about: dict[str, Any] = {
        "command": COMMAND,
        "config": {"size": name, "turns": size.turns, "microbatch": size.microbatch, "device": gpu},
        "seeds": [0],
    }
    steps = measure_steps(size, device, repeats=repeats)
    rates = sorted(steps.tokens / s for s in steps.seconds)
    found = [
        Figure(
            name=f"{name}_tokens_per_s", value=statistics.median(rates), unit="tokens/s", low=rates[0],
            high=rates[-1], note=f"median of {repeats} steps on {gpu}, lowest and highest beside it", **about,
        )
    ]  # fmt: skip
    peak = next((flops for part, flops in PEAK_FLOPS.items() if part in gpu), None)
    per_s = steps.flops / statistics.median(steps.seconds)
    note = f"{per_s / 1e12:.3g} TFLOP/s"
    if peak is not None:
        note += f" of {peak / 1e12:.0f} dense bfloat16; how FLOPs are counted: deskhand_trainer/bench/gpu.py"
        found.append(Figure(name=f"{name}_mfu", value=per_s / peak, unit="share", note=note, **about))
    if steps.peak_bytes is not None:
        gib = steps.peak_bytes / 2**30
        found.append(Figure(name=f"{name}_peak_memory", value=gib, unit="GiB", note="allocated", **about))
    for precision in ("float32", "bfloat16"):
        loss, gradient = measure_parity(size, device, precision)
        found.append(
            Figure(
                name=f"{name}_parity_{precision}", value=gradient, unit="relative",
                goal=PARITY_GOALS[precision],
                note=f"of the gradient, to float32 on the processor; of the loss {loss:.2g}", **about,
            )
        )  # fmt: skip
    return found


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and write `gpu.json`."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="cuda")
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    told = parser.parse_args(argv)
    choice: Device = told.device
    try:
        device = device_named(choice)
    except ValueError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 2
    for name in told.sizes:
        measured = figures(name, SIZES[name], device, repeats=told.repeats)
        for figure in measured:
            print(figure, flush=True)
        write_figures(told.results / "gpu.json", measured)
        write_results_page(told.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
