"""`deskhand train`: a run by hand, in a process of its own as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deskhand_platform.rounds.runs import read_result
from deskhand_trainer.run_folder import read_state

COLLECT = ("train", "collect", "--set", 'tasks=["worlds/chain"]', "--name", "some")


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "deskhand_platform.cli.app", *arguments],
        env={**os.environ, "DESKHAND_HOME": str(home), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_tells_how_far_it_is_and_what_came_of_it(tmp_path: Path) -> None:
    printed, told = start(tmp_path, *COLLECT, "--set", "episodes_per_task=4").communicate(timeout=120)
    result = read_result(tmp_path / "runs/some")
    assert result is not None and result.metrics["episodes"] == 4
    assert "episodes: 4" in printed and not any(line.startswith("- ") for line in printed.splitlines())
    begun, *lines = told.splitlines()
    assert begun.startswith("run some: its log is ")
    assert lines and all("collecting" in line for line in lines)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_it_in_order_and_it_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "runs/some"
    process = start(tmp_path, *COLLECT, "--set", "episodes_per_task=400")
    deadline = time.monotonic() + 90
    while (state := read_state(folder)) is None or not state.done:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed) == (128 + number, "")
    assert told.splitlines()[-2:] == ["stopping …", "stopped; the same command with --name some goes on"]
    # the run's own process said its last word, and is gone
    assert "stopped by a signal" in (folder / "log.txt").read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(state.pid, 0)
    assert read_result(folder) is None
    again, _ = start(tmp_path, *COLLECT, "--set", "episodes_per_task=400").communicate(timeout=120)
    assert "episodes: 400" in again
