from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deskhand_platform.bench import fresh_clone


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A committed Makefile, and a change to it that is not."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "Makefile").write_text("test:\n\t@env > $${SEEN}\nrun:\n\t@echo the port is taken; exit 3\n")
    commit = "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm one"
    subprocess.run(commit, shell=True, cwd=root, check=True)
    (root / "Makefile").write_text("test:\n\t@false\n")
    return root


def test_what_is_committed_runs_outside_this_environment(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_clone, "ROOT", checkout)
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("DESKHAND_HOME", "/mine")
    results = tmp_path / "results"
    assert fresh_clone.main(["--only", "test", "--results", str(results)]) == 0
    figure = json.loads((results / "loop.json").read_text())["figures"]["make_test_minutes"]
    assert 0 <= figure["value"] < 1 and figure["goal"] == "<= 20"
    seen = (tmp_path / "seen").read_text()
    assert "DESKHAND_HOME" not in seen and "VIRTUAL_ENV" not in seen


def test_a_command_that_fails_is_no_figure(
    checkout: Path,
    tmp_path: Path,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fresh_clone, "ROOT", checkout)
    assert fresh_clone.main(["--only", "run", "--results", str(tmp_path)]) == 1
    [log] = temporary.rglob("*.log")  # and nothing of the clone
    said = capsys.readouterr().err
    assert str(log) in said and "the port is taken" in said and "the port is taken" in log.read_text()
    assert not (tmp_path / "loop.json").exists() and not (log.parent / "run").exists()


def test_a_stop_ends_all_that_was_started(tmp_path: Path) -> None:
    """From a shell's background, where Ctrl-C is ignored, by SIGTERM."""
    root, pid = tmp_path / "checkout", tmp_path / "pid"
    root.mkdir()
    (root / "Makefile").write_text(
        f"test:\n\t@sleep 300 & echo $$! > {pid}.part; mv {pid}.part {pid}; wait\n"
    )
    commit = "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm one"
    subprocess.run(commit, shell=True, cwd=root, check=True)
    measured = (
        "import signal, sys; from pathlib import Path; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "from deskhand_platform.bench import fresh_clone as bench;"
        f"bench.ROOT = Path({str(root)!r}); sys.exit(bench.main(['--only', 'test']))"
    )
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", measured], env=there, cwd=tmp_path) as process:
        ends = time.monotonic() + 150
        while not pid.exists():
            assert process.poll() is None and time.monotonic() < ends
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(150) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not list(tmp_path.glob("deskhand-fresh-*"))
