"""How models write coordinates: `deskhand_sandbox.dialects.coordinates`, for prompts and policies."""

from __future__ import annotations

from typing import Protocol

from deskhand_sandbox.dialects.coordinates import CoordinateSystem, Frame, Part, map_positions, smart_resize

__all__ = ["CoordinateSystem", "Frame", "Frames", "Part", "map_positions", "smart_resize"]


class Frames(Protocol):
    """How a model writes coordinates: a `CoordinateSystem`, or what else knows at what size it is shown."""

    def frame(self, size_px: tuple[int, int], /) -> Frame:
        """The map for screenshots of this size (width, height)."""
        ...
