"""Training in a thread of its own, while the run's process goes on: told of, and stopped at its next step."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from deskhand_sandbox import logs
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.run_kinds.context import RunContext

log = logging.getLogger(__name__)

TELL_EVERY = 20
"""Steps between two lines in the events, figures aside."""


@asynccontextmanager
async def stopping() -> AsyncGenerator[Callable[[], bool]]:
    """Whether the training in the block is to stop: cancelled, it leaves its checkpoint, if it keeps one."""
    stop = threading.Event()
    try:
        yield stop.is_set
    except asyncio.CancelledError:
        # the training thread sees it after its step
        stop.set()
        raise


class Teller:
    """Progress of the training thread into the run's folder and events."""

    def __init__(self, context: RunContext, phase: str, topic: str) -> None:
        """
        Args:
            phase: for a person, as in "warm start".
            topic: of the events, as in "sft".
        """
        self._context, self._phase, self._topic = context, phase, topic
        self._loop = asyncio.get_running_loop()
        self._underway: set[Future[None]] = set()

    def __call__(self, progress: StageProgress) -> None:
        self._context.folder.progress(f"{self._phase}: {progress.stage}", progress.step, progress.steps)
        if progress.figures or progress.step % TELL_EVERY == 0:
            values: dict[str, JsonValue] = {"loss": progress.loss, **progress.figures}
            told = self._context.reporter.metric(
                f"{self._topic}/{progress.stage}", values, step=progress.step
            )
            future = asyncio.run_coroutine_threadsafe(told, self._loop)
            self._underway.add(future)
            future.add_done_callback(self._done)

    async def all_told(self) -> None:
        """Wait for what is still under way, once the training has ended."""
        await asyncio.gather(*map(asyncio.wrap_future, [*self._underway]), return_exceptions=True)

    def _done(self, future: Future[None]) -> None:
        self._underway.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            logs.say(log, f"figures of {self._phase} are lost: {error}", level=logging.WARNING)
