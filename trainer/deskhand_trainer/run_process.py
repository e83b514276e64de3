"""The life of a process that works at a folder: whatever happens ends in an exit status and a reason."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from deskhand_agent.errors import AgentError
from deskhand_flywheel.errors import FlywheelError, StoreTooNew
from deskhand_sandbox import logs
from deskhand_sandbox.errors import BackendMissing, InvalidTask, SandboxError, UnknownName
from deskhand_trainer.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    ConfigError,
    DiskFull,
    RunRefused,
    TrainerError,
)
from deskhand_trainer.run_folder import NO_SPACE, RunFolder

log = logging.getLogger(__name__)

FINISHED, CRASHED, REFUSED, STOPPED = 0, 1, 2, 3
"""Exit statuses; `STOPPED`: by a signal, its state is safe."""
REFUSALS = (
    RunRefused,
    ConfigError,
    UnknownName,
    InvalidTask,
    BackendMissing,
    CheckpointDamaged,
    CheckpointMismatch,
    StoreTooNew,
)
"""Starting again would not help: somebody has to do something first."""
_EXPECTED = (TrainerError, SandboxError, AgentError, FlywheelError)

Work = Callable[[], Coroutine[Any, Any, None]]


def guarded(
    folder: RunFolder,
    work: Work,
    *,
    also_refused: tuple[type[Exception], ...] = (),
    lost: Callable[[], Exception | None] = lambda: None,
) -> int:
    """Work to an exit status, unless the folder is finished; why it was not 0 stands in error.json.

    Nobody else works at the folder meanwhile. SIGTERM and SIGINT cancel the work where it stands.

    Args:
        also_refused: errors of this kind of work that starting again would not help.
        lost: asked on a signal: why the work could not even be cancelled, and the process is to end at once.
    """
    try:
        with folder.held():
            if not folder.finished:
                (folder.path / "error.json").unlink(missing_ok=True)
                asyncio.run(_until_signal(folder, work, lost))
    except asyncio.CancelledError:
        logs.say(log, "stopped by a signal; started again, it goes on")
        return STOPPED
    except (*REFUSALS, *also_refused) as error:
        return _failed(folder, error, REFUSED)
    except _EXPECTED as error:
        return _failed(folder, error, CRASHED)
    except Exception as error:  # noqa: BLE001  the edge of the process: a bug must end in error.json
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            full = DiskFull(f"no space left ({error}): free some and start the run again")
            return _failed(folder, full, CRASHED)
        logs.say(log, traceback.format_exc().rstrip(), level=logging.ERROR)
        return _failed(folder, error, CRASHED)
    return FINISHED


def _failed(folder: RunFolder, error: Exception, status: int) -> int:
    logs.say(log, f"{type(error).__name__}: {error}", level=logging.ERROR)
    try:
        folder.fail(error)
    except (DiskFull, OSError) as second:
        logs.say(log, f"and error.json could not be written: {second}", level=logging.ERROR)
    return status


async def _until_signal(folder: RunFolder, work: Work, lost: Callable[[], Exception | None]) -> None:
    task = asyncio.create_task(work())

    def stop() -> None:
        gone = lost()
        if gone is not None:
            # torchrun ends the others where one failed; a call that it had a part in may never return
            os._exit(_failed(folder, gone, CRASHED))
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await task
