"""Replay: a whole trajectory as one HTML page that needs nothing else."""

from deskhand_flywheel.replay.page import render_replay

__all__ = ["render_replay"]
