"""Folders of runs as a queue: worked one after the other, oldest first, whatever dies meanwhile.

A folder is there before the asking is answered, so that what was asked for is worked; one that was begun goes
on from its own state.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

from deskhand_platform.auth import write_private
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import PlatformError
from deskhand_platform.rounds.process import RunHalted
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state

log = logging.getLogger(__name__)
ENDED = "ended.json"
"""In a run's folder: how one that came to no result ended."""
CANCEL = "cancel"
"""In a run's folder: somebody asked for it to stop."""
POLL_S = 0.5


def pending(folders: Iterable[Path]) -> Path | None:
    """The first that has not ended."""
    return next(unended(folders), None)


def unended(folders: Iterable[Path]) -> Iterator[Path]:
    """Those that wait or are worked."""
    asked = (each for each in folders if (each / "spec.json").exists())
    return (e for e in asked if not (e / "result.json").exists() and not (e / ENDED).exists())


def ask_to_stop(folder: Path) -> None:
    """Take it out of the queue, or stop it, as soon as whoever works the queue sees it."""
    (folder / CANCEL).touch()


async def cancelled(folder: Path) -> WorkState | None:
    """What `RunRequest.halted` asks."""
    return WorkState.CANCELLED if (folder / CANCEL).exists() else None


async def work_through(
    asked: Callable[[], Iterable[Path]], bring: Callable[[Path], Awaitable[object]]
) -> None:
    """Bring one after the other to its end, for ever.

    Args:
        asked: all there are, oldest first.
        bring: raises as `bring_to_end`.
    """
    while True:
        async with log_and_continue("what waits could not be worked", OSError):
            waiting = await asyncio.to_thread(lambda: pending(asked()))
            if waiting is not None:
                await _work(waiting, bring)
                continue
        await asyncio.sleep(POLL_S)


async def _work(folder: Path, bring: Callable[[Path], Awaitable[object]]) -> None:
    """
    Raises:
        OSError: its end could not be noted: its folder was deleted, or the disk is full.
    """
    try:
        await bring(folder)
        return
    except RunHalted as halt:
        ending = halt.state, "cancelled"
    except (PlatformError, OSError) as error:
        log.warning("%s failed: %s", folder.name, error)
        ending = WorkState.FAILED, str(error)
    except Exception as error:  # a bug: those that wait behind it are not to wait for ever
        log.exception("%s failed", folder.name)
        reason = f"{type(error).__name__}: {error}; the traceback is in the platform's log"
        ending = WorkState.FAILED, reason
    write_private(folder / ENDED, json.dumps({"state": ending[0].value, "reason": ending[1]}))


def state_of(folder: Path) -> tuple[WorkState, str | None]:
    """Where it stands, and why when it came to nothing."""
    if (folder / "result.json").exists():
        return WorkState.DONE, None
    try:
        said = json.loads((folder / ENDED).read_text())
        return WorkState(said["state"]), said.get("reason")
    except (OSError, ValueError, KeyError):
        pass
    # where one life failed another is about to begin, until whoever works the queue has said that it is over
    return (WorkState.QUEUED if read_state(folder) is None else WorkState.RUNNING), None
