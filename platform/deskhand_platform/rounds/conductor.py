"""Rounds as durable DBOS workflows: a step is a phase, "make sure its run is alive, wait for its end".

DBOS keeps its own database in the home folder. Its threads only wait; the work is done on the platform's
event loop. When the platform stops or dies in a step, the step is not recorded, and the next start goes on
at it. A step whose database does not answer is done again until it does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from dbos import DBOS, SetWorkflowID

from deskhand_agent.ids import new_id
from deskhand_flywheel.errors import StorageFull, StoreUnavailable
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.rounds.config import RoundConfig, merge
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.phases import Phases
from deskhand_platform.rounds.presets import checked_config, checked_preset
from deskhand_platform.states import WorkState

log = logging.getLogger(__name__)
T = TypeVar("T")
APPLICATION_VERSION = "rounds-1"
"""Pinned: DBOS goes on only with workflows of its own version. Changes when steps change order or name."""
QUEUE = "rounds"
STOP_WAIT_S = 60
AGAIN_S = 2.0
"""Pause before a step is done again whose database did not answer."""
UNDER_WAY = ("ENQUEUED", "DELAYED", "PENDING")
"""What DBOS calls a workflow that is not over."""


class _PlatformStops(BaseException):
    """Ends a workflow's thread without a word in DBOS's books: no `Exception`, which would be recorded."""


class RoundConductor:
    """Starts, continues and stops rounds; one works at a time."""

    def __init__(self, phases: Phases, book: RoundBook, controls: RoundControls, workflows_url: str) -> None:
        self._phases = phases
        self._book = book
        self._controls = controls
        self._url = workflows_url
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False
        self._workflow: Callable[[int, int], None] | None = None

    async def launch(self) -> None:
        """Take up what an earlier platform left, and be ready for more."""
        self._loop = asyncio.get_running_loop()
        self._workflow = self._register()
        DBOS(
            config={
                "name": "deskhand",
                "system_database_url": self._url,
                "application_version": APPLICATION_VERSION,
                "executor_id": "local",
                "log_level": "WARNING",
                "notification_listener_polling_interval_sec": 1.0,
            }
        )
        await asyncio.to_thread(DBOS.launch)
        await asyncio.to_thread(DBOS.register_queue, QUEUE, global_concurrency=1, polling_interval_sec=1.0)
        for round_id in await self._book.unfinished():
            record = await self._book.get(round_id)
            found = await asyncio.to_thread(DBOS.get_workflow_status, _workflow_id(record))
            if found is not None and found.status not in UNDER_WAY:
                # it is over and could not say so in the round's row
                await self._controls.take_up(round_id, record.life)
            # the platform may have died between the round's row and its workflow; a known id changes nothing
            await self._enqueue(round_id)

    async def stop(self) -> None:
        """Stop what runs, with its state safe, so that the next launch goes on with it."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.to_thread(
            DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=STOP_WAIT_S
        )

    async def start(self, preset: str, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        """Put a round in the queue, or give the one that is the same: of that key, or, without one, of an
        equal config and not over.

        Raises:
            InvalidField: there is no such preset or start policy, an override is refused, or it cannot fit
                the machine.
        """
        config = await asyncio.to_thread(checked_preset, preset, overrides)
        return await self._begin(preset, config, key)

    async def clone(self, round_id: int, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        """Put a round in the queue that is told what that one was, with overrides.

        Raises:
            NotFound: no such round.
            InvalidField: as `start`.
        """
        record = await self._book.get(round_id)
        config = await asyncio.to_thread(checked_config, merge(record.config, overrides))
        return await self._begin(record.preset, config, key or new_id())

    async def cancel(self, round_id: int) -> RoundRecord:
        """Ask a round to stop; one that waits ends at once, one that runs as soon as its run has stopped."""
        state = await self._book.request_cancel(round_id)
        if state is not WorkState.RUNNING:
            why = (
                "cancelled while it waited" if state is WorkState.QUEUED else "cancelled while it was paused"
            )
            life = (await self._book.get(round_id)).life
            await self._phases.close(round_id, WorkState.CANCELLED, why, life)
        return await self._book.get(round_id)

    async def pause(self, round_id: int) -> RoundRecord:
        """Stop a round's run with its state safe, until the round is resumed; other rounds take their turn.

        Raises:
            NotFound, WrongState: as `RoundControls.pause`.
        """
        await self._controls.pause(round_id)
        record = await self._book.get(round_id)
        await self._phases.tell(round_id, "state", {"state": record.state, "pausing": True})
        return record

    async def resume(self, round_id: int) -> RoundRecord:
        """Put a paused round back in the queue: it goes on at the step where it was.

        Raises:
            NotFound, WrongState: as `RoundControls.resume`.
        """
        await self._controls.resume(round_id)
        return await self._queued(round_id)

    async def retry(self, round_id: int, phase: str | None, *, afresh: bool = False) -> RoundRecord:
        """Put a round back in the queue, from one of its phases on.

        Raises:
            NotFound, WrongState: as `RoundControls.retry`.
        """
        await self._controls.retry(round_id, phase, afresh=afresh)
        return await self._queued(round_id)

    # ---- inside ----

    async def _begin(self, preset: str, config: RoundConfig, key: str | None) -> RoundRecord:
        await self._phases.check_start(config)
        await self._phases.check_fit(config)
        round_id, new = await self._book.create(preset, config, key)
        if new:
            await self._phases.tell(round_id, "state", {"state": WorkState.QUEUED, "preset": preset})
        record = await self._book.get(round_id)
        if record.state is WorkState.QUEUED:
            await self._enqueue(round_id)
        return record

    async def _queued(self, round_id: int) -> RoundRecord:
        await self._phases.tell(round_id, "state", {"state": WorkState.QUEUED})
        await self._enqueue(round_id)
        return await self._book.get(round_id)

    def _register(self) -> Callable[[int, int], None]:
        begin = DBOS.step(name="begin")(self._blocking(self._phases.begin))
        phase = DBOS.step(name="phase")(self._blocking(self._do))
        close = DBOS.step(name="close")(self._blocking(self._close))

        # rounds begun before there were lives have workflows without one
        def work(round_id: int, life: int = 0) -> None:
            try:
                names = begin(round_id, life)
                for name in names:
                    state, reason = phase(round_id, name)
                    if state != WorkState.DONE:
                        close(round_id, state, reason, life)
                        return
                if names:
                    close(round_id, WorkState.DONE.value, None, life)
            except Exception as error:  # the edge: a bug must end in the round's row, not only in a log
                close(round_id, WorkState.FAILED.value, f"{type(error).__name__}: {error}", life)
                raise

        return DBOS.workflow(name="round")(work)

    async def _do(self, round_id: int, name: str) -> tuple[str, str | None]:
        state, reason = await self._phases.do(round_id, name)
        return state.value, reason

    async def _close(self, round_id: int, state: str, reason: str | None, life: int) -> None:
        await self._phases.close(round_id, WorkState(state), reason, life)

    def _blocking(self, work: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., T]:
        """`work` on the platform's loop, waited for by a thread of DBOS."""

        def wait(*arguments: Any) -> T:
            loop = self._loop
            if loop is None or self._stopping:
                raise _PlatformStops
            future = asyncio.run_coroutine_threadsafe(self._tracked(self._answered(work, *arguments)), loop)
            try:
                return future.result()
            except CancelledError:
                raise _PlatformStops from None

        wait.__name__ = wait.__qualname__ = work.__name__
        return wait

    async def _answered(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """`work`, done again while the database does not answer: every step can be."""
        while not self._stopping:
            try:
                return await work(*arguments)
            except (StoreUnavailable, StorageFull) as error:
                log.warning("a step of round %d is done again: %s", arguments[0], error)
                await asyncio.sleep(AGAIN_S)
        raise asyncio.CancelledError

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await task

    async def _enqueue(self, round_id: int) -> None:
        record = await self._book.get(round_id)
        workflow = self._workflow
        assert workflow is not None, "launch comes first"

        def enqueue() -> None:
            with SetWorkflowID(_workflow_id(record)):
                DBOS.enqueue_workflow(QUEUE, workflow, round_id, record.life)

        await asyncio.to_thread(enqueue)


def _workflow_id(record: RoundRecord) -> str:
    return f"round-{record.id}" + (f"-{record.life}" if record.life else "")
