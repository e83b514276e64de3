"""Replay: a whole trajectory as one HTML page that needs nothing else, or as text."""

from deskhand_flywheel.replay.page import render_replay
from deskhand_flywheel.replay.text import render_text

__all__ = ["render_replay", "render_text"]
