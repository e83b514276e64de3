"""Whether a round can fit this machine at all: memory, the GPU's too, disk and cores, with the arithmetic.

Everything is a lower bound, so that what is refused could not have worked: sandboxes by their measured
memory (`browser_memory_mb` and its neighbours in docs/results), models by the bytes of their weights. What
also comes to it, activations above all, depends on too much to be counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.config import RUN_FIELDS, RoundConfig, run_record
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.tasks import make_task
from deskhand_trainer.runs import RunKind

PROCESS_MB = 400
"""A run with torch loaded, before it has a model."""
SANDBOX_MB = {"browser": (300, 19), "android": (309, 21), "desktop": (50, 56), "vm": (0, 360)}
"""By kind: what is shared by all, and what each takes."""
EPISODE_MB = 0.01
"""On disk: a few small screens, compressed."""
COPIES = {RunKind.SFT: 4, RunKind.PRETRAIN: 4, RunKind.PPO: 5}
"""Of the weights in memory: themselves, gradient, two moments, the engine's; 1 where nothing is learned."""
ON_GPU = (RunKind.COLLECT, RunKind.LABEL, RunKind.SCORE, RunKind.PPO, RunKind.EVALUATE)
"""Kinds whose model lies in the memory of a GPU, where there is one; the others compute on the processor."""
CHECKPOINT_COPIES = 3
"""Of the weights on disk, of each run that learns: weights and two moments."""
ASK_GPU = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
ASK_GPU_S = 10.0
TINY_MB = 5
"""Weights of the model of a round that starts from none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """What there is to fit into."""

    memory_mb: float
    disk_mb: float
    """Free, where the runs lie."""
    cores: int
    gpu: bool
    """There is one: models of `ON_GPU` lie in its memory, not in this."""
    gpu_mb: float | None = None
    """Its memory, of several the largest's: a run of a round is one process. None: nobody knows."""


def this_machine(home: Path) -> Machine:
    """The machine, as far as this process may use it."""
    gpu = Path("/dev/nvidia0").exists() or Path("/dev/kfd").exists()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        memory_mb=min(pages, _cgroup_limit()) / 1e6,
        disk_mb=shutil.disk_usage(home).free / 1e6,
        cores=len(os.sched_getaffinity(0)),
        gpu=gpu,
        gpu_mb=gpu_memory_mb() if gpu else None,
    )


def gpu_memory_mb() -> float | None:
    """Memory of the largest GPU by NVIDIA's tool, for torch takes seconds; None where it does not say."""
    try:
        told = subprocess.run(ASK_GPU, capture_output=True, text=True, check=True, timeout=ASK_GPU_S).stdout
        return max(float(line) for line in told.splitlines()) * 2**20 / 1e6
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def check_fit(config: RoundConfig, weights_mb: float | None, machine: Machine) -> None:
    """Refuse a round that cannot fit.

    Args:
        weights_mb: of the policy it starts from; None: of the tiny model.

    Raises:
        InvalidField: it needs more than there is; names the field to lower, and says the sum. Or there is no
            task of a name that it has.
    """
    weights = TINY_MB if weights_mb is None else weights_mb
    disk: list[tuple[str, str, float]] = []
    for name in RUN_FIELDS:
        given = getattr(config, name)
        if given is None:
            continue
        told: Any = _told(name, given)
        _check_cores(name, told, machine)
        on_gpu = _on_gpu(name, told, machine)
        model = _model(name, told, weights, on_gpu=on_gpu)
        memory = _memory(name, told) + ([] if on_gpu else model)
        _refuse("memory", f"phase {name}", memory, machine.memory_mb)
        if on_gpu and machine.gpu_mb is not None:
            _refuse("GPU memory", f"phase {name}", model, machine.gpu_mb)
        disk += _disk(name, told, weights)
    _refuse("disk space", "the round", disk, machine.disk_mb)


def _told(name: str, given: Mapping[str, Any]) -> Any:
    from deskhand_trainer.config import parse_config

    return parse_config(run_record(name), given)


def _check_cores(name: str, told: Any, machine: Machine) -> None:
    threads, most = getattr(told, "threads", 1), max(machine.cores, 2)
    if threads > most:
        raise InvalidField(
            f"{name}.threads", f"{threads} threads, each on a core of its own, and {machine.cores} cores here"
        )


def _on_gpu(name: str, told: Any, machine: Machine) -> bool:
    # where a server draws the replies, weights of this process that do not learn are loaded and go nowhere
    elsewhere = bool(getattr(told, "engine", "")) and RUN_FIELDS[name] not in COPIES
    elsewhere |= getattr(told, "policy", "local") == "scripted"
    named = getattr(told, "device", "auto")
    return machine.gpu and RUN_FIELDS[name] in ON_GPU and named != "cpu" and not elsewhere


def _memory(name: str, told: Any) -> list[tuple[str, str, float]]:
    """What a phase needs beside its model: (field to lower, the term of the sum, MB)."""
    parts = [("", "a run", float(PROCESS_MB))]
    tasks = cast("Sequence[str]", getattr(told, "tasks", ()))
    count = getattr(told, "concurrency", 0) if tasks else 0
    field = f"{name}.concurrency"
    costs = {kind: SANDBOX_MB[kind] for kind in _kinds(name, tasks) if kind in SANDBOX_MB}
    if count and costs:
        kind, (shared, each) = min(costs.items(), key=lambda one: sum(one[1]))
        parts.append((field, f"{count} {kind} sandboxes of {each} MB and {shared} MB", shared + count * each))
    return parts


def _model(name: str, told: Any, weights: float, *, on_gpu: bool) -> list[tuple[str, str, float]]:
    """What its model needs, where it lies."""
    copies = COPIES.get(RUN_FIELDS[name], 1)
    copies = 2 if getattr(told, "lora_rank", 0) else copies + bool(getattr(told, "kl_coef", 0))
    # what servers are given of it lies beside the processor
    copies -= on_gpu and RUN_FIELDS[name] is RunKind.PPO and bool(told.engine)
    term = "a copy" if copies == 1 else f"{copies} copies"
    return [("start", f"{term} of {weights:,.0f} MB of weights", copies * weights)]


def _kinds(name: str, tasks: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for at, task in enumerate(tasks):
        try:
            found.add(make_task(task, seed=0).environment.kind)
        except SandboxError as error:
            raise InvalidField(f"{name}.tasks[{at}]", str(error)) from error
    return found


def _disk(name: str, told: Any, weights: float) -> list[tuple[str, str, float]]:
    """The same of what a phase leaves on disk."""
    per_task = {"collect": "episodes_per_task", "explore": "episodes_per_task", "evaluate": "episodes"}
    parts: list[tuple[str, str, float]] = []
    if name in per_task:
        field = per_task[name]
        episodes = getattr(told, field) * len(told.tasks)
        parts.append((f"{name}.{field}", f"{episodes:,} episodes of {name}", episodes * EPISODE_MB))
    # where minutes end the loop, nobody knows how many there will be
    if name == "ppo" and told.minutes == 0:
        episodes = told.iterations * told.episodes_per_iteration
        parts.append(("ppo.iterations", f"{episodes:,} episodes of ppo", episodes * EPISODE_MB))
    if RUN_FIELDS[name] in COPIES:
        size = CHECKPOINT_COPIES * weights
        parts.append(("start", f"{CHECKPOINT_COPIES} copies of {name}'s {weights:,.0f} MB of weights", size))
    return parts


def _refuse(what: str, whose: str, parts: Sequence[tuple[str, str, float]], there_is: float) -> None:
    needed = sum(size for _, _, size in parts)
    if needed <= there_is:
        return
    field = max((part for part in parts if part[0]), key=lambda part: part[2])[0]
    arithmetic = " + ".join(f"{size:,.0f} MB ({term})" for _, term, size in parts)
    raise InvalidField(
        field,
        f"{whose} needs at least {needed:,.0f} MB of {what} = {arithmetic}; "
        f"this machine has {there_is:,.0f} MB",
    )


def _cgroup_limit() -> float:
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        return float("inf") if text == "max" else float(text)
    except (OSError, ValueError):
        return float("inf")
