"""Time of the processor that was had, by this process and what it started, and by the whole machine."""

from __future__ import annotations

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_s() -> float:
    """Processor time of this process and all that descend from it, those that ended among them."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # behind the name, which may hold anything
            told = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        pid = int(stat.parent.name)
        parents[pid] = int(told[1])
        spent[pid] = sum(map(int, told[11:15])) / TICKS_PER_S
    ours = {os.getpid()}
    while found := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= found
    return sum(spent.get(pid, 0.0) for pid in ours)


def machine_s() -> float:
    """Processor time of everything that ran on the machine."""
    user, nice, system, _idle, _wait, irq, softirq, *_ = (
        int(each) for each in Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + irq + softirq) / TICKS_PER_S
