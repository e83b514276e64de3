"""`deskhand train`: a run by hand, in a process of its own as a user starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.cli import training
from deskhand_platform.rounds.runs import read_result
from deskhand_sandbox.manager.lending import read_lending
from deskhand_trainer.presets import method, method_names
from deskhand_trainer.run import config_of
from deskhand_trainer.run_folder import RunFolder, hold, read_state
from deskhand_trainer.runs import RunResult

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
    printed, told = start(tmp_path, *COLLECT, "--set", "episodes_per_task=4").communicate(timeout=180)
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
    deadline = time.monotonic() + 150
    while (state := read_state(folder)) is None or not state.done:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    printed, told = process.communicate(timeout=180)
    assert (process.returncode, printed) == (128 + number, "")
    assert told.splitlines()[-2:] == ["stopping …", "stopped; the same command with --name some goes on"]
    # the run's own process said its last word, and is gone
    assert "stopped by a signal" in (folder / "log.txt").read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(state.pid, 0)
    assert read_result(folder) is None
    again, _ = start(tmp_path, *COLLECT, "--set", "episodes_per_task=400").communicate(timeout=180)
    assert "episodes: 400" in again


Train = Callable[..., str]
"""`deskhand train` with these arguments and a name; what it printed."""


@pytest.fixture
def train(tmp_path: Path, deskhand: Any) -> Train:
    def run(*arguments: str) -> str:
        ended = deskhand("train", *arguments, "--name", "some", home=tmp_path)
        return ended.out + ended.err

    return run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """Of a run that is stopped when it has begun."""

    def begun(command: object, folder: Path, environment: object) -> int:
        RunFolder(folder).progress("collecting", 0, 4)
        return 3

    monkeypatch.setattr(training, "run_in_foreground", begun)
    return RunFolder(tmp_path / "runs/some")


@pytest.mark.parametrize("preset", ["sft", "rejection", "pretrain", "tdpo", "refuel"])
def test_every_kind_of_run_takes_its_presets(train: Train, run: RunFolder, preset: str) -> None:
    found = method(preset)
    train(found.kind, "--preset", preset, "--set", "seed=5")
    assert run.spec().kind == found.kind
    assert run.spec().config == {**found.config, "seed": 5}


@pytest.mark.parametrize(("preset", "lacks"), [("grpo", "clip_low"), ("dart", "clip_low"), ("st-ppo", None)])
def test_a_geometric_ratio_does_not_borrow_the_clip_of_another(
    train: Train, run: RunFolder, preset: str, lacks: str | None
) -> None:
    """A run begun before that was known reads as it did."""
    asked = "ppo", "--preset", preset, "--set", "ratio=turn_geometric"
    said = train(*asked)
    assert run.path.exists() == (lacks is None)
    if lacks is not None:
        assert f"{lacks}: the ε where none is named are for ratios of tokens" in " ".join(said.split())
        train(*asked, "--set", "clip_low=0.0003", "--set", "clip_high=0.0004")
    told = config_of(run.spec())
    assert (told.clip_low, told.clip_high) == ((0.2, 0.2) if lacks is None else (0.0003, 0.0004))
    before = replace(run.spec(), config={"ratio": "turn_geometric"})
    assert config_of(before).clip_high == 0.28


def test_every_method_is_listed_with_its_sentence_and_its_paper(deskhand: Any) -> None:
    ended = deskhand("train", "presets")
    _, *rows = [re.split(r"\s{2,}", line.strip()) for line in ended.out.splitlines()]
    told = [(m.name, str(m.kind), m.description, m.paper) for m in map(method, method_names())]
    assert (ended.status, [tuple(row) for row in rows]) == (0, told)


def test_a_finished_run_tells_its_result_to_its_own_command_alone(train: Train, run: RunFolder) -> None:
    train("collect", "--set", "tries=2")
    run.finish(RunResult(policy_out=None, metrics={"episodes": 4}, seconds=1.0))
    kept = run.spec()
    assert "is finished, and differs in settings: take another name" in train("collect", "--set", "tries=3")
    assert "is finished, and differs in kind: take another name" in train("evaluate", "--set", "tries=2")
    assert run.spec() == kept
    assert "episodes: 4" in train("collect", "--set", "tries=2")


def test_episodes_of_other_settings_are_not_mixed_and_training_may_go_on_with_them(
    train: Train, run: RunFolder
) -> None:
    train("collect", "--set", "temperature=1.0")
    told = train("collect", "--set", "temperature=0.5")
    assert "has begun, and differs in settings: take another name, or go on with what it began with" in told
    assert run.spec().config == {"temperature": 1.0}
    (run.path / "state.json").unlink()
    train("ppo", "--set", "lr=0.1")
    train("ppo", "--set", "lr=0.2")
    assert run.spec().config == {"lr": 0.2}


def test_a_run_keeps_frames_as_the_home_says(
    train: Train, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_NEAR_FRAMES", "0.01")
    train("collect")
    assert run.spec().near_frames == 0.01


def test_a_run_opens_sandboxes_as_the_settings_say(
    train: Train, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESKHAND_SANDBOX__POOLS", '{"fake": {"max_sandboxes": 3}}')
    monkeypatch.setenv("DESKHAND_SANDBOX__TERMS__TTL_S", "60")
    train("collect")
    told = read_lending(run.spec().sandboxes)
    assert (told.pools, told.terms.ttl_s) == ({"fake": {"max_sandboxes": 3}}, 60)


def test_a_run_at_work_keeps_its_spec(train: Train, run: RunFolder) -> None:
    train("ppo", "--set", "lr=0.1")
    with hold(run.path, busy=lambda: None):
        assert "some is at work already" in train("ppo", "--set", "lr=0.2")
    assert run.spec().config == {"lr": 0.1}
