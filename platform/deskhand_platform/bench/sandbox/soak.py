"""Thousands of leases with random deaths, and what is left of them: nothing, if all is well.

Leases of every kind go through one sandbox host. In some of them a process is killed: the browser, the X
server, what moves the desktop's pointer, a virtual machine, or the client that holds the lease. Everybody
else's leases go on or end in an infrastructure failure, and new ones are granted. When all are done the host
is stopped and its traces are counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deskhand_platform.bench.sandbox.samples import COMMAND
from deskhand_platform.bench.sandbox.starts import measured
from deskhand_platform.bench.sandbox.traces import Traces
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostProcess, HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.manager import processes as running
from deskhand_sandbox.types import Click, JsonValue
from deskhand_trainer.results import Figure

VICTIMS: Mapping[str, tuple[str, ...]] = {
    "browser": ("chrom",),
    "desktop": ("Xvfb", "hand.py"),
    "vm": ("qemu-system",),
    "android": ("chrom", "adb"),
}
"""Parts of the command lines of what a kind's sandboxes stand on."""
CLIENT_SHARE = 0.25
"""Of the deaths, those of clients."""
CLIENT = [sys.executable, "-m", "deskhand_platform.bench.sandbox.client"]
LEASE_S = 120.0
END_S = 30.0


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    leases: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    killed: Counter[str] = field(default_factory=Counter[str])


async def soak(
    kinds: Sequence[str],
    *,
    leases: int,
    deaths: float,
    workers: int,
    seed: int,
    say: Callable[[str], None],
) -> list[Figure]:
    """Lend, kill and count.

    Args:
        leases: how many are taken in all.
        deaths: share of leases in which something is killed.
        workers: leases at a time.

    Raises:
        SandboxError: the host does not start, or lends nothing at all.
    """
    chance, tally, began = random.Random(seed), Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="deskhand-soak-") as name:
        folder = Path(name)
        pools = {kind: PoolSettings(max_sandboxes=workers, create_s=300) for kind in kinds}
        async with start_host(HostSettings(kinds=pools, state_folder=folder)) as host:
            traces = _traces(host.pid, folder)

            async def work() -> None:
                async with SandboxClient(host.url, host.token) as client:
                    while tally.leases < leases:
                        tally.leases += 1
                        if tally.leases % 100 == 0:
                            say(f"{tally.leases} of {leases} leases, killed {dict(tally.killed)}")
                        await _one(client, host, chance, tally, kinds, deaths)

            await asyncio.gather(*(work() for _ in range(workers)))
        left = await _left(traces, folder)
    minutes = (time.monotonic() - began) / 60
    return _figures(tally, left, kinds, {"deaths": deaths, "workers": workers, "seed": seed}, minutes)


async def _one(
    client: SandboxClient,
    host: HostProcess,
    chance: random.Random,
    tally: Tally,
    kinds: Sequence[str],
    deaths: float,
) -> None:
    """One lease, with or without a death."""
    kind = chance.choices(kinds, weights=[8 if kind == "browser" else 1 for kind in kinds])[0]
    dies, by_client = chance.random() < deaths, chance.random() < CLIENT_SHARE
    of = measured(kind, seed=chance.randrange(10**6))
    x, y = of.click_at
    if dies and by_client:
        await _killed_client(host, kind)
        tally.killed["client"] += 1
        return
    try:
        async with client.lease(kind, owner=f"soak {chance.randrange(4)}", wait_s=LEASE_S) as sandbox:
            await sandbox.reset(of.task)
            if dies and (victim := _victim(host, kind, chance)) is not None:
                tally.killed[victim] += 1
            for _ in range(2):
                await sandbox.act(Click(x=x, y=y))
    except SandboxError as error:
        tally.failed[type(error).__name__] += 1


def _victim(host: HostProcess, kind: str, chance: random.Random) -> str | None:
    """Kill one of the processes a kind's sandboxes stand on; what it was."""
    name = chance.choice(VICTIMS.get(kind, ("",)))
    found = [each for each in running.descendants(host.pid).values() if name and name in each.command]
    if not found:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.kill(chance.choice(found).pid, signal.SIGKILL)
    return name


async def _killed_client(host: HostProcess, kind: str) -> None:
    """A client of another process, killed while it holds a lease."""
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(
        *CLIENT, host.url, kind, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    assert client.stdin is not None and client.stdout is not None
    client.stdin.write(host.token.encode() + b"\n")
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(LEASE_S):
            await client.stdout.readline()  # it has its lease, or has ended
    with contextlib.suppress(ProcessLookupError):
        client.kill()
    await client.wait()


async def _left(traces: Traces, folder: Path) -> dict[str, list[str]]:
    """What there still is once the host has ended and had time to let go."""
    processes = [each.command for each in await asyncio.to_thread(traces.ended, END_S)]
    left = {
        "displays": [each for each in processes if "Xvfb" in each],
        "virtual machines": [each for each in processes if "qemu-system" in each],
        "control groups": [str(each) for each in traces.groups()],
        "temporary files": [str(each) for each in traces.files()],
        "journals": [str(each) for each in _journals(folder)],
    }
    left["other processes"] = [
        each for each in processes if each not in left["displays"] + left["virtual machines"]
    ]
    return left


def _journals(folder: Path) -> list[Path]:
    return list(folder.glob("manager-*.json"))


def _traces(pid: int, folder: Path) -> Traces:
    """Of the host whose journal lies there."""
    journal = json.loads(_journals(folder)[0].read_text())
    return Traces(pid=pid, mark=journal["mark"], folder=Path(journal["scratch"]))


def _figures(
    tally: Tally,
    left: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
    config: dict[str, JsonValue],
    minutes: float,
) -> list[Figure]:
    said = ", ".join(f"{count} x {name}" for name, count in sorted(tally.killed.items())) or "nothing"
    failed = ", ".join(f"{count} {name}" for name, count in sorted(tally.failed.items())) or "none"
    counts = ", ".join(f"{len(found)} {what}" for what, found in left.items())
    figure = functools.partial(Figure, command=COMMAND, config={**config, "kinds": list(kinds)})
    return [
        figure(
            name="soak_leases",
            value=float(tally.leases),
            unit="leases",
            goal=">= 2000",
            note=f"killed {said}; leases that ended in a failure: {failed}; {minutes:.1f} minutes",
        ),
        figure(
            name="soak_leaked",
            value=float(sum(len(found) for found in left.values())),
            unit="things",
            goal="<= 0",
            note=f"after the host had ended: {counts}",
        ),
    ]
