"""Choices a config names; apart from the maths, so that reading a config loads no torch."""

from __future__ import annotations

from typing import Literal, TypeAlias

Aggregation: TypeAlias = Literal["token", "turn", "trajectory"]
"""What the loss is the mean over."""

Normalisation: TypeAlias = Literal["none", "batch", "group"]
"""What advantages are centred and scaled by."""
