"""What an agent has said, where several of its words might be meant."""

from __future__ import annotations

from collections.abc import Iterable

from deskhand_sandbox.types import Action, Answer, Finish


def last_words(actions: Iterable[Action], said: str | None = None) -> str | None:
    """What it has said last after these actions: an end without words leaves an answer as it was.

    Args:
        said: before them; None: nothing.
    """
    for action in actions:
        if isinstance(action, Answer) or (isinstance(action, Finish) and action.text):
            said = action.text
    return said
