"""Virtual machines: a reset and a clone beside a cold boot, in turns; and the minutes the image takes."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deskhand_platform.bench.sandbox.samples import COMMAND, durations, ratio
from deskhand_platform.bench.sandbox.starts import measured
from deskhand_sandbox.backends.vm import VmSettings, create
from deskhand_sandbox.backends.vm.image import RECIPE, build, find
from deskhand_sandbox.types import JsonValue, Task
from deskhand_trainer.results import Figure

if TYPE_CHECKING:
    from deskhand_sandbox.backends.vm.backend import VmBackend

LEFT = "head -c 33554432 /dev/urandom > left && sync && sha256sum left"
"""What an episode may leave: memory and disk written to."""


@dataclass(slots=True)
class Taken:
    """Milliseconds, one of each for every repeat."""

    boot: list[float] = field(default_factory=list[float])
    """Power on, until the guest's agent answers."""
    clone: list[float] = field(default_factory=list[float])
    """A new machine in the saved state, until its agent has been claimed."""
    rewind: list[float] = field(default_factory=list[float])
    """A machine that was worked at, back in the saved state, until its agent has been claimed anew."""


async def bench_vm(repeats: int, builds: int, say: Callable[[str], None]) -> list[Figure]:
    """Boots, clones and resets of the golden image, paired in each repeat; and builds of the image.

    Args:
        repeats: of boot, clone and reset, in this order.
        builds: of the image, from nothing; 0 for none.

    Raises:
        SandboxError: it failed.
    """
    if find() is None:
        say("vm: building the image first")
        await asyncio.to_thread(build)
    settings, backend = VmSettings(), create()
    try:
        accelerator, taken = await _in_turns(backend, repeats, say)
    finally:
        await backend.close()
    config: dict[str, JsonValue] = {
        "accelerator": accelerator,
        "memory_mb": settings.memory_mb,
        "cpus": settings.cpus,
    }
    figures = [
        *durations("vm_boot", taken.boot, config, note="power on until the guest's agent answers"),
        *durations("vm_clone", taken.clone, config, note="until the clone's agent has been claimed"),
        *durations(
            "vm_rewind", taken.rewind, config, note="the saved state again, until its agent is claimed"
        ),
        ratio("vm_reset_vs_boot", taken.boot, taken.rewind, config, goal="<= 0.05", note=_note("going back")),
        ratio("vm_clone_vs_boot", taken.boot, taken.clone, config, goal="<= 0.2", note=_note("cloning")),
    ]
    return figures + await _built(builds, say)


async def _in_turns(backend: VmBackend, repeats: int, say: Callable[[str], None]) -> tuple[str, Taken]:
    task, taken = measured("vm").task, Taken()
    first = await backend.create()  # the image is booted and saved, where it was not yet
    accelerator = first.machine.hardware.accelerator
    await first.close()
    for number in range(repeats):
        taken.boot.append(await backend.cold_boot() * 1000)
        await _clone_and_rewind(backend, task, taken)
        say(
            f"vm: {number + 1} of {repeats}: boot {taken.boot[-1]:.0f} ms, clone {taken.clone[-1]:.0f} ms, "
            f"rewind {taken.rewind[-1]:.0f} ms"
        )
    return accelerator, taken


async def _clone_and_rewind(backend: VmBackend, task: Task, taken: Taken) -> None:
    began = time.perf_counter()
    sandbox = await backend.create()
    taken.clone.append((time.perf_counter() - began) * 1000)
    async with sandbox:
        await sandbox.reset(task)
        await sandbox.evaluate(LEFT)
        began = time.perf_counter()
        await sandbox.rewind()
        taken.rewind.append((time.perf_counter() - began) * 1000)


async def _built(builds: int, say: Callable[[str], None]) -> list[Figure]:
    """Minutes of a build from nothing, in a folder of its own."""
    minutes: list[float] = []
    for number in range(builds):
        with tempfile.TemporaryDirectory(prefix="deskhand-images-") as folder:
            began = time.monotonic()
            await asyncio.to_thread(build, folder=Path(folder))
            minutes.append((time.monotonic() - began) / 60)
        say(f"vm: image {number + 1} of {builds} built in {minutes[-1]:.2f} minutes")
    if not minutes:
        return []
    return [
        Figure(
            name="vm_image_build_minutes",
            value=round(statistics.median(minutes), 3),
            unit="minutes",
            low=round(min(minutes), 3),
            high=round(max(minutes), 3),
            goal="<= 3",
            note=f"{len(minutes)} builds from nothing, downloading from Debian's mirror included",
            command=COMMAND,
            config={"suite": RECIPE.suite, "packages": len(RECIPE.packages)},
        )
    ]


def _note(what: str) -> str:
    return f"{what} over booting, in turns; both end when the guest's agent answers"
