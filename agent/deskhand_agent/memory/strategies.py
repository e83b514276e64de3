"""The strategy of a policy's settings."""

from __future__ import annotations

from functools import cache

from deskhand_agent.memory.base import Memory
from deskhand_agent.memory.constant import Constant
from deskhand_agent.memory.episodic import Episodic
from deskhand_agent.memory.operations import Operations
from deskhand_agent.memory.settings import WindowMemory
from deskhand_agent.memory.summary import Summary
from deskhand_agent.memory.window import Window


@cache
def memory_of(settings: WindowMemory) -> Memory:
    """The strategy these settings name; it has no state, so one serves everybody."""
    match settings.strategy:
        case "window":
            return Window()
        case "summary":
            return Summary(settings.summary_after)
        case "episodic":
            return Episodic(
                after=settings.summary_after,
                chars=settings.notes_chars,
                working=settings.n_screenshots - 1,
            )
        case "constant":
            return Constant()
        case "operations":
            return Operations(after=settings.summary_after, chars=settings.notes_chars)
