"""What the actions of one reply returned, as one text."""

from __future__ import annotations

from collections.abc import Sequence

from deskhand_agent.memory.room import clipped, fair_share, size
from deskhand_agent.prompt import MAX_OUTPUT_CHARS


def together(outputs: Sequence[str]) -> str:
    """The outputs, one per action, in order; the only one as it is, of several the empty ones left out.

    Several have as many bytes together as a prompt shows characters: so each shows something of itself, where
    the prompt would leave out the middle of them all.
    """
    told = [output for output in outputs if output]
    if len(told) < 2:
        return "".join(told)
    share = fair_share([size(output) for output in told], MAX_OUTPUT_CHARS - len(told) + 1)
    return "\n".join(clipped(output, share) for output in told)[:MAX_OUTPUT_CHARS]
