"""Each kind by itself: making one, starting a task, a screenshot, a click, and the memory it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from deskhand_platform.bench.sandbox.samples import COMMAND, durations
from deskhand_platform.bench.sandbox.starts import Measured, measured
from deskhand_platform.bench.sandbox.traces import Traces
from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import Click
from deskhand_trainer.results import Figure

CREATE_GOALS = {"desktop": "<= 300"}
RESET_GOALS = {"browser": "<= 50"}
COLD: Mapping[str, Mapping[str, object]] = {"desktop": {"spares": 0}}
"""Settings with which nothing is made in advance, where making one is measured."""
PAIR = 4
"""Sandboxes alive when memory is measured, beside one."""
DIRTY = "localStorage.setItem('left', 'x'); document.cookie = 'left=x'; true"


async def bench_kind(kind: str, samples: int, say: Callable[[str], None]) -> list[Figure]:
    """Durations and memory of one kind, in this process.

    Raises:
        SandboxError: it failed.
    """
    of = measured(kind)
    async with _backend(kind, **COLD.get(kind, {})) as backend:
        figures = await _made(backend, of, samples)
    async with _backend(kind) as backend:
        figures += await _worked(backend, of, samples)
    say(f"{kind}: " + ", ".join(f"{f.name} {f.value:g}" for f in figures if f.name.endswith("p50")))
    figures.append(await _memory(of))
    return figures


async def bench_leases(kind: str, samples: int) -> list[Figure]:
    """From asking a host of another process until the sandbox, made before, answers to this one."""
    of = measured(kind)
    taken: list[float] = []
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deskhand-bench-")))
        settings = HostSettings(kinds={kind: PoolSettings(max_sandboxes=1)}, state_folder=folder)
        host = await stack.enter_async_context(start_host(settings))
        client = await stack.enter_async_context(SandboxClient(host.url, host.token))
        async with client.lease(kind, owner="bench") as sandbox:
            await sandbox.reset(of.task)
        for _ in range(samples):
            began = time.perf_counter()
            async with client.lease(kind, owner="bench"):
                taken.append((time.perf_counter() - began) * 1000)
    return durations("lease_warm", taken, {"kind": kind}, goal="<= 5", note="through the sandbox host")


@asynccontextmanager
async def _backend(kind: str, **settings: object) -> AsyncGenerator[Backend, None]:
    backend = create_backend(kind, **settings)
    try:
        yield backend
    finally:
        await backend.close()


async def _made(backend: Backend, of: Measured, samples: int) -> list[Figure]:
    """Until a new sandbox is there, and until it shows its first screen."""
    async with await backend.create() as first:  # what all share is there
        await first.reset(of.task)
    there: list[float] = []
    seen: list[float] = []
    for _ in range(max(3, samples // 5)):
        began = time.perf_counter()
        async with await backend.create() as sandbox:
            there.append((time.perf_counter() - began) * 1000)
            await sandbox.reset(of.task)
            seen.append((time.perf_counter() - began) * 1000)
    config = {"task": of.task.id}
    return [
        *durations(
            f"{of.kind}_create",
            there,
            config,
            goal=CREATE_GOALS.get(of.kind),
            note="one after another, none in advance",
        ),
        *durations(f"{of.kind}_first_screen", seen, config, note="made and reset to its task"),
    ]


async def _worked(backend: Backend, of: Measured, samples: int) -> list[Figure]:
    x, y = of.click_at
    took: dict[str, list[float]] = {"reset": [], "screenshot": [], "click": [], "settled": []}
    async with await backend.create() as sandbox:
        await sandbox.reset(of.task)
        for number in range(samples):
            if number % 5 == 0:
                await _leave_traces(sandbox)
                began = time.perf_counter()
                await sandbox.reset(of.task)
                took["reset"].append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            seen = await sandbox.act(Click(x=x, y=y))
            took["click"].append((time.perf_counter() - began) * 1000)
            took["settled"].append(seen.settled_ms)
            began = time.perf_counter()
            await sandbox.observe()
            took["screenshot"].append((time.perf_counter() - began) * 1000)
    config = {"task": of.task.id}
    notes = {
        "reset": "after five clicks" + (", storage and a cookie" if of.kind == "browser" else ""),
        "screenshot": "with the wait until the screen stands still",
        "click": "with the screenshot after it",
        "settled": "the part of a click that is the wait until the screen stands still",
    }
    figures: list[Figure] = []
    for name, samples_ms in took.items():
        goal = RESET_GOALS.get(of.kind) if name == "reset" else None
        figures += durations(f"{of.kind}_{name}", samples_ms, config, goal=goal, note=notes[name])
    return figures


async def _leave_traces(sandbox: Sandbox) -> None:
    if sandbox.kind == "browser":
        await sandbox.evaluate(DIRTY)


async def _memory(of: Measured) -> Figure:
    """What one more sandbox takes: proportional set size of all processes, with several and with one."""
    sizes: dict[int, float] = {}
    for count in (1, PAIR):
        with Traces.of_this_process() as traces:
            async with _backend(of.kind) as backend, AsyncExitStack() as stack:
                for _ in range(count):
                    sandbox = await stack.enter_async_context(await backend.create())
                    await sandbox.reset(of.task)
                sizes[count] = sum(pss_mb(process.pid) for process in traces.processes())
    return Figure(
        name=f"{of.kind}_memory_mb",
        value=round((sizes[PAIR] - sizes[1]) / (PAIR - 1), 1),
        unit="MB",
        note=f"proportional set size of one more; the first takes {sizes[1]:.0f} MB with what is shared",
        command=COMMAND,
        config={"task": of.task.id, "sandboxes": PAIR},
    )


def pss_mb(pid: int) -> float:
    """Proportional set size of a process; 0 when it is gone or not ours to look at."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024
