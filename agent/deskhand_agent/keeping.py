"""A sandbox's loan, kept while an episode asks nothing of it: its model may wait long for its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Protocol, runtime_checkable

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxError

RENEW_S = 60.0
"""Between two renewals."""


@runtime_checkable
class OnLoan(Protocol):
    """A sandbox that its holder loses, where they neither use nor renew it for long."""

    async def renew(self) -> None: ...


@contextmanager
def kept(sandbox: Sandbox) -> Generator[None]:
    """The sandbox's loan, where it is on loan, lasts as long as what is done inside."""
    if not isinstance(sandbox, OnLoan):
        yield
        return
    loop = asyncio.get_running_loop()
    under_way: set[asyncio.Task[None]] = set()

    def renew() -> None:
        nonlocal timer
        task = loop.create_task(_renew(sandbox), name=f"renew the loan of {sandbox.id}")
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        timer = loop.call_later(RENEW_S, renew)

    timer = loop.call_later(RENEW_S, renew)
    try:
        yield
    finally:
        # one that is under way ends by itself: a call that is cut may break the sandbox's channel
        timer.cancel()


async def _renew(loan: OnLoan) -> None:
    with suppress(SandboxError):  # what is wrong with it, the episode says
        await loan.renew()
