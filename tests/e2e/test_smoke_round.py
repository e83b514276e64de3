"""The smallest real round: real Chromium, real runs of the trainer, killed in the middle, gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def start(home: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "deskhand_platform.cli.app", "run", "--round", "smoke", "--exit"]
    return subprocess.Popen(
        [*command, "--port", "0"],
        env={**os.environ, "DESKHAND_HOME": str(home), "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_run(home: Path, run: str, process: subprocess.Popen[str]) -> int:
    """Wait until that run says how far it is; its process."""
    state = home / "runs" / run / "state.json"
    deadline = time.monotonic() + 900
    while not state.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    return int(json.loads(state.read_text())["pid"])


@pytest.mark.timeout(1800)
def test_a_round_survives_kills_and_the_next_goes_on_from_it(tmp_path: Path) -> None:
    process = start(tmp_path)
    run = wait_for_run(tmp_path, "round-1-sft", process)
    os.kill(run, signal.SIGKILL)  # the run alone: the platform starts it again
    wait_for_run(tmp_path, "round-1-ppo", process)
    process.kill()  # everything
    process.communicate()

    again = start(tmp_path)
    out, err = again.communicate(timeout=1500)
    assert again.returncode == 0, err
    assert "going on with it" in err and "Traceback" not in err
    for label in ("before SFT", "after SFT", "after PPO"):
        assert label in out
    assert "the next round starts from" in out

    second = start(tmp_path)
    out, err = second.communicate(timeout=1500)
    assert second.returncode == 0, err
    assert "start" in out and "after PPO" in out and "after SFT" not in out
