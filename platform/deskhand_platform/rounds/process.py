"""One run process, kept alive until it has finished: whatever dies is started again and goes on by itself."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from deskhand_platform.errors import RoundFailed
from deskhand_platform.rounds.runs import read_error, read_result, write_spec
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state
from deskhand_trainer.runs import RunResult

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LOOK_S = 0.5
"""How often it is looked whether to stop while a run works."""


class RunExit(IntEnum):
    """Exit statuses of a run."""

    FINISHED = 0
    CRASHED = 1
    REFUSED = 2
    STOPPED = 3


class RunHalted(Exception):
    """Somebody asked for it; the run has stopped with its state safe."""

    def __init__(self, state: WorkState) -> None:
        super().__init__(state.value)
        self.state = state
        """Cancelled or paused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """A run to be brought to its end."""

    folder: Path
    spec: Callable[[], Awaitable[DataclassInstance]]
    """What it is told. Asked before every start: the sandbox host's address may have changed meanwhile."""
    module: str
    """Run with `python -m MODULE FOLDER`."""
    environment: Callable[[], Mapping[str, str]]
    """Added to the process's environment."""
    halted: Callable[[], Awaitable[WorkState | None]]
    """Whether it is to stop, and as what: cancelled or paused."""
    crashes: int
    """Deaths in a row, with nothing done in between, after which the run is given up."""
    stop_grace_s: float


async def bring_to_end(request: RunRequest) -> RunResult:
    """Start the run, again after every death, until it has finished.

    Raises:
        RunHalted: it was to be cancelled or paused.
        RoundFailed: the run refused its spec, or died too often without getting on.
        asyncio.CancelledError: the platform stops; the run was stopped with its state safe.
    """
    await _end_leftover(request)
    deaths, reached = 0, _progress(request.folder)
    while True:
        result = read_result(request.folder)
        if result is not None:
            return result
        halt = await request.halted()
        if halt is not None:
            raise RunHalted(halt)
        status = await _one_life(request)
        if read_result(request.folder) is not None:
            continue
        if status == RunExit.REFUSED:
            raise RoundFailed(_said(request.folder, "the run refused its settings"))
        now = _progress(request.folder)
        deaths = deaths + 1 if now == reached else 0
        reached = now
        if status != RunExit.STOPPED and deaths >= request.crashes:
            died = f"the run died {deaths} times in a row (last: {_died(status)})"
            raise RoundFailed(f"{_said(request.folder, died)}; see {request.folder / 'log.txt'}")


async def _one_life(request: RunRequest) -> int:
    """Run the process until it ends or is to be stopped; its exit status."""
    (request.folder / "error.json").unlink(missing_ok=True)
    write_spec(request.folder, await request.spec())
    with (request.folder / "log.txt").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            request.module,
            str(request.folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **request.environment()},
            # Ctrl-C at the terminal reaches the platform, which stops its runs in order
            start_new_session=True,
        )
    ended = asyncio.ensure_future(process.wait())
    try:
        while not ended.done():
            await asyncio.wait([ended], timeout=LOOK_S)
            if not ended.done() and await request.halted() is not None:
                await _stop(process, request.stop_grace_s)
    finally:
        await _stop(process, request.stop_grace_s)
    return await ended


async def _stop(process: asyncio.subprocess.Process, grace_s: float) -> None:
    """SIGTERM, and SIGKILL to whatever of the run's group is left after `grace_s`."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _end_leftover(request: RunRequest) -> None:
    """Wait out a process of an earlier platform: runs die with it, but not in the same instant."""
    state = read_state(request.folder)
    while state is not None and is_run(state.pid, request):
        with suppress(ProcessLookupError):
            os.kill(state.pid, signal.SIGKILL)
        await asyncio.sleep(0.02)


def is_run(pid: int, request: RunRequest) -> bool:
    """The process of that number lives and does this run."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return request.module.encode() in arguments and str(request.folder).encode() in arguments


def _progress(folder: Path) -> tuple[str, int]:
    """Where the run was last: one that dies at the same place again and again gets nowhere."""
    state = read_state(folder)
    return ("", 0) if state is None else (state.phase, state.done)


def _died(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _said(folder: Path, fallback: str) -> str:
    error = read_error(folder)
    return fallback if error is None else f"{error.type}: {error.message}"
