"""Thousands of leases with random deaths, and what is left of them: nothing, if all is well.

Leases of every kind go through one sandbox host. In some of them a process is killed: a browser, one of its
pages or the shell that started it, an X server, what moves the desktop's pointer, a virtual machine, adb's
server, or the client that holds the lease. Everybody else's leases go on or end in an infrastructure failure,
and new ones are granted. When all are done the host is stopped and what is left of it is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
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

from deskhand_platform.bench.sandbox.leftovers import Leftovers, counts
from deskhand_platform.bench.sandbox.samples import COMMAND
from deskhand_platform.bench.sandbox.starts import measured
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostProcess, HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.types import Click, JsonValue
from deskhand_trainer.results import Figure
from deskhand_trainer.wilson import wilson


@dataclass(frozen=True, kw_only=True, slots=True)
class Victim:
    """A sort of process that can be killed, by its command line."""

    name: str
    has: tuple[str, ...]
    has_not: tuple[str, ...] = ()

    def is_meant(self, process: Process) -> bool:
        """Whether a process is one of them."""
        command = process.command
        return all(each in command for each in self.has) and not any(each in command for each in self.has_not)


BROWSER = Victim(name="browser", has=("chrom", "--user-data-dir="), has_not=("--type=", "/bin/sh"))
VICTIMS: Mapping[str, tuple[Victim, ...]] = {
    "browser": (
        BROWSER,
        Victim(name="page of a browser", has=("chrom", "--type=renderer")),
        # Debian's headless shell is started by one: without it the browser goes on, as nobody's child
        Victim(name="shell of a browser", has=("/bin/sh", "chrom")),
    ),
    "desktop": (Victim(name="X server", has=("Xvfb",)), Victim(name="desktop's hand", has=("hand.py",))),
    "vm": (Victim(name="guest", has=("qemu-system",)),),
    "android": (BROWSER, Victim(name="adb server", has=("adb",))),
}
"""Whom a kind's sandboxes stand on."""
CLIENT_SHARE = 0.25
"""Of the deaths, those of clients."""
CLIENT = [sys.executable, "-m", "deskhand_platform.bench.sandbox.client"]
LEASE_S = 120.0
END_S = 30.0
FIND_S = 20.0
"""How long to look for somebody to kill: one killed just now is replaced with the next lease."""
LOOK_S = 0.05
PORTS_S = 1.0
"""How often the listening ports are noted."""
VMS = 2
"""Virtual machines at a time: each is hundreds of megabytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to happen in one lease."""

    kind: str
    seed: int
    """Of its task."""
    owner: str
    dies: bool
    by_client: bool
    """It is the client that dies."""
    victims: tuple[Victim, ...]
    """Whom else to kill: the first sort of which there is one."""
    pick: float
    """Which of them, from 0 to 1."""


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    leases: int = 0
    """Begun."""
    failed: Counter[str] = field(default_factory=Counter[str])
    spectators: int = 0
    """Leases in which nothing was to be killed."""
    spectators_failed: int = 0
    """Of these: what others' deaths took with them, and what broke by itself."""
    killed: Counter[str] = field(default_factory=Counter[str])
    spared: int = 0
    """Deaths that were to be and were not: nobody of the sort was there, or the lease had failed before."""


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
    plans = iter([_plan(chance, kinds, deaths) for _ in range(leases)])
    with tempfile.TemporaryDirectory(prefix="deskhand-soak-") as name:
        pools = {kind: PoolSettings(max_sandboxes=_places(kind, workers), create_s=300) for kind in kinds}
        settings = HostSettings(kinds=pools, state_folder=Path(name))
        async with start_host(settings) as host:
            leftovers = Leftovers.of(host.pid, settings.state_folder)

            async def work() -> None:
                async with SandboxClient(host.url, host.token) as client:
                    for plan in plans:
                        tally.leases += 1
                        if tally.leases % 100 == 0:
                            say(f"{tally.leases} of {leases} leases, killed {dict(tally.killed)}")
                        await _one(client, host, leftovers, plan, tally)

            noting = asyncio.create_task(_note_ports(leftovers))
            try:
                await asyncio.gather(*(work() for _ in range(workers)))
            finally:
                noting.cancel()
                await asyncio.wait([noting])
        left = await asyncio.to_thread(leftovers.left, END_S)
    minutes = (time.monotonic() - began) / 60
    config: dict[str, JsonValue] = {"deaths": deaths, "workers": workers, "seed": seed, "kinds": list(kinds)}
    return _figures(tally, left, config, minutes)


def _places(kind: str, workers: int) -> int:
    return min(workers, VMS) if kind == "vm" else workers


async def _note_ports(leftovers: Leftovers) -> None:
    while True:
        await asyncio.to_thread(leftovers.note_ports)
        await asyncio.sleep(PORTS_S)


def _plan(chance: random.Random, kinds: Sequence[str], deaths: float) -> Plan:
    kind = chance.choices(kinds, weights=[8 if kind == "browser" else 1 for kind in kinds])[0]
    sorts = VICTIMS.get(kind, ())
    return Plan(
        kind=kind,
        seed=chance.randrange(10**6),
        owner=f"soak {chance.randrange(4)}",
        dies=chance.random() < deaths,
        by_client=chance.random() < CLIENT_SHARE,
        victims=tuple(chance.sample(sorts, len(sorts))),
        pick=chance.random(),
    )


async def _one(
    client: SandboxClient, host: HostProcess, leftovers: Leftovers, plan: Plan, tally: Tally
) -> None:
    """One lease, with or without a death."""
    if plan.dies and plan.by_client:
        await _killed_client(host, plan.kind)
        tally.killed["client"] += 1
        return
    of = measured(plan.kind, seed=plan.seed)
    x, y = of.click_at
    due = plan.dies
    tally.spectators += not plan.dies
    try:
        async with client.lease(plan.kind, owner=plan.owner, wait_s=LEASE_S) as sandbox:
            await sandbox.reset(of.task)
            if due:
                due = False
                await _kill(leftovers, plan, tally)
            for _ in range(2):
                await sandbox.act(Click(x=x, y=y))
    except SandboxError as error:
        tally.failed[type(error).__name__] += 1
        tally.spectators_failed += not plan.dies
        tally.spared += due  # its sandbox died before, of another lease's death


async def _kill(leftovers: Leftovers, plan: Plan, tally: Tally) -> None:
    """Kill one of those that the kind's sandboxes stand on."""
    deadline = time.monotonic() + FIND_S
    while plan.victims and time.monotonic() < deadline:
        running = await asyncio.to_thread(leftovers.processes)
        for sort in plan.victims:
            found = [each for each in running if sort.is_meant(each)]
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found[int(plan.pick * len(found))].pid, signal.SIGKILL)
                    tally.killed[sort.name] += 1
                    return
        await asyncio.sleep(LOOK_S)
    tally.spared += 1


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


def _figures(
    tally: Tally, left: Mapping[str, Sequence[str]], config: dict[str, JsonValue], minutes: float
) -> list[Figure]:
    said = ", ".join(f"{count} x {name}" for name, count in sorted(tally.killed.items())) or "nothing"
    failed = ", ".join(f"{count} {name}" for name, count in sorted(tally.failed.items())) or "none"
    spared = f"; {tally.spared} deaths came to nothing" if tally.spared else ""
    figure = functools.partial(Figure, command=COMMAND, config=config)
    # what nothing was to be killed in is another measurement, and takes no figure's place
    run = "soak" if config["deaths"] else "calm"
    figures = [
        figure(
            name=f"{run}_leases",
            value=float(tally.leases),
            unit="leases",
            goal=">= 2000",
            note=f"{tally.killed.total()} killed: {said}{spared}; leases that ended in a failure: {failed}; "
            f"{minutes:.1f} minutes",
        ),
        figure(
            name=f"{run}_leaked",
            value=float(sum(len(found) for found in left.values())),
            unit="things",
            goal="<= 0",
            note=f"after the host had ended: {counts(left)}",
        ),
    ]
    if not tally.spectators:
        return figures
    note = f"{tally.spectators_failed} of {tally.spectators} leases in which nothing was killed"
    rate = wilson(tally.spectators_failed, tally.spectators)
    return [
        *figures,
        figure(
            name=f"{run}_failures_per_1000_episodes",
            value=round(1000 * rate.value, 3),
            low=round(1000 * rate.low, 3),
            high=round(1000 * rate.high, 3),
            unit="leases",
            note=f"{note}; what others' deaths took with them among them" if tally.killed else note,
        ),
    ]
