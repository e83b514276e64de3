"""`deskhand trajectories` as a person or a program types it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from deskhand_flywheel.store import Store

Record = Callable[..., Awaitable[str]]


async def test_trajectories_are_listed_by_words_and_figures(
    store: Store, record_episode: Record, beside: Callable[..., Awaitable[Any]]
) -> None:
    found = await record_episode(store)
    for asked, there in (
        (["--text", "door han*", "--min-steps", "2"], False),
        (["--text", "handle", "--min-steps", "2", "--min-score", "1", "--since", "2020-01-01"], True),
        (["--failure", "sandbox_died"], False),
        (["--outcome", "success", "--until", "2020-01-01"], False),
    ):
        listed = await beside("trajectories", "list", *asked)
        assert (listed.status, found in listed.out) == (0, there), listed.err
