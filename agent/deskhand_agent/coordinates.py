"""How models write coordinates: `deskhand_sandbox.dialects.coordinates`, for prompts and policies."""

from __future__ import annotations

from deskhand_sandbox.dialects.coordinates import CoordinateSystem, Frame, Part, map_positions, smart_resize

__all__ = ["CoordinateSystem", "Frame", "Part", "map_positions", "smart_resize"]
