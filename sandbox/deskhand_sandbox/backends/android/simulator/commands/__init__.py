"""The programs of the simulated device, by the names a shell finds them under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.simulator.calls import Program
from deskhand_sandbox.backends.android.simulator.commands import activities, fingers, packages, state, windows

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""
    return {
        **fingers.programs(simulator),
        **windows.programs(simulator),
        **activities.programs(simulator),
        **packages.programs(simulator),
        **state.programs(simulator),
    }
