"""A run of the trainer started by hand: how far it is is shown, and a signal ends it in order."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deskhand_platform.cli.console import err, say
from deskhand_platform.cli.signals import STOPPED
from deskhand_trainer.run_folder import read_state
from deskhand_trainer.runs import RunState

LOOK_S = 0.5
TOLD_EVERY_S = 60.0
"""In a log: how often a phase that goes on is told of again."""

ASKING = (*STOPPED, signal.SIGHUP)
"""Signals that ask the run to stop."""

Tell = Callable[[RunState], None]


def run_in_foreground(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    """Start a run's process and see it to its end; what it prints goes to the run's log.

    Ctrl-C, SIGTERM and a window that is closed ask it once to stop, and it is waited for: what it has is safe
    then.

    Returns:
        Its exit status, or 128 + the number of the signal that stopped it.
    """
    began_s, got = time.time(), list[signal.Signals]()
    with (folder / "log.txt").open("ab") as log:
        # in a session of its own: a terminal's Ctrl-C reaches it through here alone, and once
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=dict(environment), start_new_session=True
        )

    def stop(number: int, frame: FrameType | None) -> None:
        if not got:
            process.send_signal(signal.SIGTERM)
            # a window that is closed shows nothing
            with suppress(OSError):
                say("stopping …")
        got.append(signal.Signals(number))

    # nohup's SIGHUP stays ignored
    asking = [number for number in ASKING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in asking}
    try:
        with _live() if err.is_terminal else _lines() as tell:
            status = None
            while status is None:
                status, state = _ended(process), read_state(folder)
                # an earlier life of the run left its own
                if state is not None and state.updated_at_s >= began_s:
                    tell(state)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + got[0] if got and status else status


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(LOOK_S)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def _live() -> Generator[Tell]:
    """For a person who waits: one bar, gone at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as shown:
        bar = shown.add_task("starting", total=None)

        def tell(state: RunState) -> None:
            shown.update(bar, description=state.phase, completed=state.done, total=state.total or None)

        yield tell


@contextmanager
def _lines() -> Generator[Tell]:
    """For logs: a line when something else begins, and every minute while it goes on."""
    last, told_s = "", 0.0

    def tell(state: RunState) -> None:
        nonlocal last, told_s
        kind, now = re.sub(r"\d+", "", state.phase), time.monotonic()
        if kind == last and now - told_s < TOLD_EVERY_S:
            return
        last, told_s = kind, now
        say(f"{time.strftime('%H:%M:%S')} {state}")

    yield tell
