"""From one task to another in one browser sandbox: in its context, and in a new one where traces lie."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Mapping

from deskhand_platform.bench.sandbox.kinds import DIRTY
from deskhand_platform.bench.sandbox.samples import COMMAND, ratio
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.bench.processor import processor_s
from deskhand_trainer.results import Figure

TASKS = (
    "miniwob/click-button",
    "miniwob/enter-text",
    "miniwob/click-tab-2",
    "miniwob/focus-text",
    "miniwob/click-link",
    "miniwob/login-user",
    "miniwob/click-shape",
    "miniwob/navigate-tree",
)
AFTERWARDS_S = 0.5
"""What is made and closed in the background belongs to the change before it."""


async def bench_changes(repeats: int, say: Callable[[str], None]) -> list[Figure]:
    """Processor time of a reset to another task, Chromium's processes included.

    Args:
        repeats: of all tasks one after another, each way in turns.

    Raises:
        SandboxError: it failed.
    """
    kept: list[float] = []
    renewed: list[float] = []
    backend = create_backend("browser")
    try:
        async with await backend.create() as sandbox:
            await _round(sandbox, 0, dirty=False)
            for repeat in range(1, repeats + 1):
                for dirty, spent in ((False, kept), (True, renewed)):
                    before = processor_s()
                    await _round(sandbox, repeat, dirty=dirty)
                    spent.append(1000 * (processor_s() - before) / len(TASKS))
                say(f"change of task: {kept[-1]:.0f} ms of processor, {renewed[-1]:.0f} in a new context")
    finally:
        await backend.close()
    config: dict[str, JsonValue] = {"tasks": list(TASKS), "repeats": repeats}
    return [
        _figure(
            "browser_change_processor_ms", kept, config, "untouched storage: the page gives way to another"
        ),
        _figure("browser_new_context_processor_ms", renewed, config, "storage and a cookie were left"),
        ratio(
            "browser_change_vs_new_context",
            kept,
            renewed,
            config,
            goal=">= 2",
            note="processor time of a change of task with a new context over one without, paired",
        ),
    ]


async def _round(sandbox: Sandbox, seed: int, *, dirty: bool) -> None:
    for task in TASKS:
        if dirty:
            await sandbox.evaluate(DIRTY)
        await sandbox.reset(make_task(task, seed))
    await asyncio.sleep(AFTERWARDS_S)


def _figure(name: str, samples: list[float], config: Mapping[str, JsonValue], note: str) -> Figure:
    return Figure(
        name=name,
        value=round(statistics.median(samples), 1),
        unit="ms",
        low=round(min(samples), 1),
        high=round(max(samples), 1),
        command=COMMAND,
        config=config,
        note=f"{note}; a reset, Chromium's processes included; median of {len(samples)} times {len(TASKS)}",
    )
