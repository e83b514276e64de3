"""Browser sandboxes beside a bare protocol loop on the same pages, with the same settle rule."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from deskhand_platform.bench.rollout_cdp import BARE, SANDBOX, TASK_ID, take_turns
from deskhand_platform.bench.sandbox.samples import COMMAND
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.results import Figure

COUNTS = (1, 4, 8)
SECONDS = 4.0
"""For each way, in each repeat."""
STEP = "reset, screenshot, click, screenshot and reward"


async def bench_cdp(repeats: int, say: Callable[[str], None]) -> list[Figure]:
    """Steps per second of 1, 4 and 8 sandboxes over those of as many bare pages; settle times apart.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    figures: list[Figure] = []
    for count in COUNTS:
        turns = await take_turns(count, (BARE, SANDBOX), seconds=SECONDS, repeats=repeats, say=say)
        config: dict[str, JsonValue] = {
            "task": TASK_ID,
            "sandboxes": count,
            "seconds": SECONDS,
            "repeats": repeats,
        }
        pairs = list(zip(turns[SANDBOX], turns[BARE], strict=True))
        figures += [
            _figure(
                f"browser_vs_cdp_{count}",
                [ours.rate / bare.rate for ours, bare in pairs],
                "ratio",
                f"steps/s, ours / a bare protocol loop, paired in each repeat; a step is {STEP}",
                config,
                goal=">= 0.9",
            ),
            _figure(
                f"browser_vs_cdp_{count}_settle_ms",
                [ours.settled_ms for ours, _ in pairs],
                "ms",
                "of a step of ours, the part that is waiting for a still screen, twice",
                config,
            ),
            _figure(
                f"browser_vs_cdp_{count}_bare_settle_ms",
                [bare.settled_ms for _, bare in pairs],
                "ms",
                "of a bare step, the part that is waiting for a still screen, twice",
                config,
            ),
        ]
    return figures


def _figure(
    name: str,
    values: Sequence[float],
    unit: str,
    note: str,
    config: dict[str, JsonValue],
    *,
    goal: str | None = None,
) -> Figure:
    return Figure(
        name=name,
        value=round(statistics.median(values), 3),
        unit=unit,
        low=round(min(values), 3),
        high=round(max(values), 3),
        goal=goal,
        note=f"{note}; median of {len(values)} repeats, low and high are the least and the most of them",
        command=COMMAND,
        config=config,
    )
