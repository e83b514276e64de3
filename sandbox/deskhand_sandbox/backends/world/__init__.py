"""Small worlds computed in this process: puzzles, walks and a shop, on a terminal and as a picture of it.

No browser, no program: a step takes microseconds, and the whole state can be kept, gone back to and forked.
"""

from __future__ import annotations

from deskhand_sandbox.backends.world.sandbox import WorldBackend, WorldSandbox

__all__ = ["WorldBackend", "WorldSandbox", "create"]


def create() -> WorldBackend:
    """The backend `world`; it has no settings."""
    return WorldBackend()
