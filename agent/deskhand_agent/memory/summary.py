"""A summary of the model's own in place of all turns before it (SUPO, arXiv:2510.06727)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskhand_agent.memory.base import since_writing
from deskhand_agent.memory.window import Window

if TYPE_CHECKING:
    from deskhand_agent.types import Step

SUMMARISE = (
    "Do not act now. Write down in short what was done, what was found out and what is left to do: "
    "from now on you see this in place of the turns before."
)
"""What a summary is asked for with."""


class Summary(Window):
    """A window that begins anew at each summary."""

    question = SUMMARISE

    def __init__(self, after: int) -> None:
        """
        Args:
            after: turns after which one is asked for.
        """
        self._after = after

    def due(self, steps: Sequence[Step]) -> bool:
        """After so many turns without one."""
        return len(since_writing(steps)) >= self._after
