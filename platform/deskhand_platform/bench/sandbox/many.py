"""Many sandboxes at once: cheap worlds, all held through one host until the last has its start state.

What one host and one client carry, where the sandboxes themselves cost next to nothing.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from deskhand_platform.bench.sandbox.samples import COMMAND, durations
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import JsonValue, Press
from deskhand_trainer.results import Figure

KIND, TASK_ID = "world", "worlds/chain"
LEASE_S = 600.0
ACTS = 3
"""Of each sandbox, once all are there."""


@dataclass(slots=True)
class Crowd:
    """Those that come, until all have."""

    most: int
    held: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    took_ms: list[float] = field(default_factory=list[float])
    """Of every action, while all are held."""
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def count(self) -> None:
        """Let all go on once nobody is left to come."""
        if self.held + self.failed.total() >= self.most:
            self.complete.set()


async def bench_many(most: int, say: Callable[[str], None]) -> list[Figure]:
    """Lend so many, reset them, and act in all of them at a time.

    Raises:
        SandboxError: the host does not start.
    """
    crowd = Crowd(most=most)
    with tempfile.TemporaryDirectory(prefix="deskhand-many-") as name:
        settings = HostSettings(kinds={KIND: PoolSettings(max_sandboxes=most)}, state_folder=Path(name))
        async with start_host(settings) as host, SandboxClient(host.url, host.token) as client:
            began = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for number in range(most):
                    group.create_task(_one(client, number, crowd))
                await crowd.complete.wait()
                there_s = time.perf_counter() - began
                say(f"{crowd.held} of {most} sandboxes are held after {there_s:.1f} s")
            acting_s = time.perf_counter() - began - there_s
    return _figures(crowd, there_s, acting_s)


async def _one(client: SandboxClient, number: int, crowd: Crowd) -> None:
    arrived = False
    try:
        async with client.lease(KIND, owner="bench", wait_s=LEASE_S) as sandbox:
            await sandbox.reset(make_task(TASK_ID, number))
            crowd.held, arrived = crowd.held + 1, True
            crowd.count()
            await crowd.complete.wait()
            for _ in range(ACTS):
                began = time.perf_counter()
                await sandbox.act(Press(keys=("ArrowRight",)))
                crowd.took_ms.append((time.perf_counter() - began) * 1000)
    except SandboxError as error:
        crowd.held -= arrived
        crowd.failed[type(error).__name__] += 1
        crowd.count()


def _figures(crowd: Crowd, there_s: float, acting_s: float) -> list[Figure]:
    config: dict[str, JsonValue] = {"task": TASK_ID, "most": crowd.most, "acts": ACTS}
    failed = ", ".join(f"{count} {name}" for name, count in sorted(crowd.failed.items())) or "none"
    figure = partial(Figure, command=COMMAND, config=config)
    figures = [
        figure(
            name="many_held",
            value=float(crowd.held),
            unit="sandboxes",
            goal=f">= {crowd.most}",
            note=f"worlds lent by one host to one client and held to the end, acted in at once; the last was "
            f"there after {there_s:.1f} s; failures: {failed}",
        )
    ]
    if crowd.took_ms:
        rate = round(len(crowd.took_ms) / acting_s, 1)
        figures.append(figure(name="many_acts", value=rate, unit="actions/s", note="of all together"))
        figures += durations("many_act", crowd.took_ms, config, note="asked of all at once")
    return figures
