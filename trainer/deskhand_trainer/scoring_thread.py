"""The thread that a reward model is asked in, which may be too slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

import torch

from deskhand_trainer.config import PpoConfig

P = ParamSpec("P")
T = TypeVar("T")


class ScoringThread:
    """Where the reward model is asked: a call that was given up goes on, for a thread cannot be stopped, and
    must neither hold up learning, checkpoints and the process's end nor have others pile up behind it. Who is
    not to wait for another's calls has one of its own; each computes with the config's number of threads."""

    def __init__(self, config: PpoConfig) -> None:
        self._limit_s = config.scoring_s
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        work = partial(_carry_out, self._calls, threads=config.threads)
        Thread(target=work, name="reward-model", daemon=True).start()
        self._left: Future[Any] | None = None
        """The last call that nobody waits for; it may go on."""

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls take turns.

        Raises:
            TimeoutError: no answer within `scoring_s`; at once, while a call that was given up goes on.
        """
        if self._left is not None and not self._left.done():
            raise TimeoutError
        call = Future[T]()
        self._calls.put((call, partial(work, *args, **kwargs)))
        try:
            async with asyncio.timeout(self._limit_s):
                return await asyncio.wrap_future(call)
        finally:
            if not call.cancel():
                self._left = call

    def close(self) -> None:
        """Waits for nothing."""
        self._calls.put(None)


def _carry_out(calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None], *, threads: int) -> None:
    torch.set_num_threads(threads)
    while (told := calls.get()) is not None:
        call, work = told
        if not call.set_running_or_notify_cancel():
            continue
        try:
            found = work()
        except Exception as error:  # noqa: BLE001  it is the caller's, and the thread serves others
            call.set_exception(error)
        else:
            call.set_result(found)
