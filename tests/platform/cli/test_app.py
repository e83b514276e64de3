from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.auth import write_private
from deskhand_sandbox.isolation import Confinement

Deskhand = Callable[..., Any]


def process(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "deskhand_platform.cli.app", *arguments],
        env={**os.environ, "DESKHAND_HOME": str(home), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["run", "--round", "from-scrach"], 2, "did you mean from-scratch"),
        (["run", "--set", "ppo.iteration=1"], 2, "did you mean iterations"),
        (["run", "--set", "ppo"], 2, "name=value"),
        (["serve", "--port", "99999"], 2, "--port"),
        (["submit", "miniwob/click-test"], 1, "deskhand serve"),
        (["rounds", "cancel", "1"], 1, "deskhand serve"),
        (["rounds", "show", "x"], 2, "number"),
        (["replay", "nothing", "--html"], 2, "nothing"),
        (["train", "ppoo"], 2, "did you mean ppo"),
        (["train", "ppo", "--preset", "tdpo"], 2, "tdpo is a method of prefer, and this is ppo"),
        (["train", "ppo", "--dataset", "mine@1"], 2, "and ppo with rollouts=recorded"),
        (["train", "score", "--dataset", "mine@1"], 2, "this score would not"),
        (["train", "sft", "--reward-model", "one"], 2, "the turns of a ppo run, and this is sft"),
        (["train", "ppo", "--config", "/nothing.yaml"], 2, "--config: /nothing.yaml"),
        (["train", "collect", "--name", "../mine"], 2, "--name"),
        (["train", "collect", "--name", ".."], 2, "--name"),
        (["submit", "fake/press-button", "--within", "-3"], 2, "--within"),
        (["submit", "fake/press-button", "--within", "nan"], 2, "--within"),
        (["submit", "fake/press-button", "--setting", "hot"], 2, "--setting: 'hot'"),
        (["branch", "one", "0", "--setting", "hot"], 2, "--setting: 'hot'"),
        (["tasks", "submit", "{home}/bytes.jsonl"], 2, "it is no UTF-8"),
        (["bench", "rollout"], 2, "did you mean rollouts"),
        (["study", "lop"], 2, "did you mean loop"),
        (["eval", "--policy", "deskhand-tin"], 2, "no policy 'deskhand-tin'"),
        (["policies", "export", "nothing", "{home}/out"], 2, "no policy 'nothing'"),
        (["policies", "merge", "one", "two"], 2, "no policy 'one'"),
        (["policy", "merge", "one", "two"], 2, "no policy 'one'"),
        (["policies", "serve", "nothing"], 2, "no policy 'nothing'"),
        (["policies", "import", "{home}/something"], 2, "{home}/something is no model folder"),
        (["policies", "merge", "one"], 2, "name two policies or more"),
        (
            ["policies", "merge", "one", "two", "--weight", "1"],
            2,
            "a positive one for each of the 2 policies",
        ),
        (["policies", "export", "nothing", "{home}"], 2, "is there already"),
        (["policies", "export", "nothing", "{home}/out", "--dtype", "int4"], 2, "float32 or bfloat16"),
        (["flywheel", "export", "{home}/out", "--format", "parket"], 2, "did you mean parquet"),
        (["flywheel", "export", "{home}/out"], 2, "no trajectory is chosen"),
        (["flywheel", "export", "{home}/out", "--id", "x", "--task", "y"], 2, "not by several"),
        (["flywheel", "export", "{home}/out", "--dataset", "nothing@1"], 2, "dataset 'nothing'"),
        (["flywheel", "export", "{home}/out", "--dataset", "sft@one"], 2, "NAME@VERSION"),
        (["flywheel", "export", "{home}/out", "--label", "run"], 2, "name=value"),
        (["flywheel", "export", "{home}/out", "--id", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["flywheel", "export", "{home}/out", "--dataset", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["flywheel", "datasets", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["flywheel", "lineage", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["flywheel", "agreement", "--source", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["trajectories", "show", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["trajectories", "list", "--text", "\udcff"], 2, r"'\udcff' is no UTF-8"),
        (["flywheel", "export", "{home}/out", "--id", "nothing"], 2, "no trajectory 'nothing'"),
        (
            ["flywheel", "gc", "--rule", "{home}/nothing.yaml"],
            2,
            "--rule: {home}/nothing.yaml cannot be read",
        ),
        (["flywheel", "import", "{home}"], 2, "holds nothing that can be imported"),
        (["flywheel", "import", "{home}/nowhere"], 2, "is not there"),
        (["flywheel", "import", "{home}", "--dialect", "ui_tar"], 2, "did you mean ui_tars"),
        (["flywheel", "route", "{home}/nothing.yaml"], 2, "nothing.yaml"),
        (["run", "--set", "routes.sft.outcome=sucess"], 2, "did you mean success"),
        (["flywheel", "lineage", "nothing"], 2, "no policy 'nothing'"),
        (["url"], 1, "deskhand serve"),
        (["status", "--url", "http://localhost:80a"], 2, "Invalid port: '80a'); give --url, or DESKHAND_URL"),
        (["policies", "list", "--url", "http://[::1"], 2, "'http://[::1' is no address"),
        (
            ["status", "--url", "http://localhost:99999"],
            2,
            "'http://localhost:99999' is no platform's address",
        ),
        (["status", "--url", "localhost:8420"], 2, "'localhost:8420' is no platform's address"),
        (["audit", "--since", "0001-01-01"], 2, "--since: 0001-01-01 00:00:00 is no time"),
        (["audit", "--until", "0001-01-01"], 2, "--until: 0001-01-01 00:00:00 is no time"),
        (["trajectories", "list", "--since", "0001-01-01"], 2, "--since: 0001-01-01 00:00:00 is no time"),
        (["tasks", "submit", "{home}/deep.jsonl"], 2, "line 1 is not JSON"),
        (["tasks", "submit", "{home}/cut.jsonl"], 2, "line 2 is not JSON"),
        (["tasks", "submit", "{home}/empty.jsonl"], 2, "holds no task"),
        (["submit", "fake/press-button", "--within", "-1"], 2, "--within: takes more than 0 seconds"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    tmp_path: Path, deskhand: Deskhand, arguments: list[str], status: int, said: str
) -> None:
    (tmp_path / "something").write_text("here")
    (tmp_path / "bytes.jsonl").write_bytes(b'{"task_id": "\xff"}')
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    (tmp_path / "cut.jsonl").write_text('{"task_id": "fake/press-button"}\n{')
    (tmp_path / "empty.jsonl").write_text("")
    shown = deskhand(*(word.format(home=tmp_path) for word in arguments), home=tmp_path)
    assert shown.status == status, shown.err
    assert said.format(home=tmp_path) in shown.err and "Traceback" not in shown.err and shown.out == ""


def test_the_version_is_told(deskhand: Deskhand) -> None:
    assert deskhand("--version") == (0, f"deskhand {version('deskhand')}\n", "")


def test_debug_shows_where(tmp_path: Path) -> None:
    # Python shows it of what ends a process
    assert "Traceback" in process(tmp_path, "run", "--round", "x", DESKHAND_DEBUG="1").stderr


def test_a_port_in_use_names_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        # a platform sets how its process writes its log
        result = process(tmp_path, "serve", "--port", str(taken.getsockname()[1]))
    assert result.returncode == 1 and "--port" in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "sandbox-host.json").exists()


def test_no_command_says_what_there_is(deskhand: Deskhand) -> None:
    shown = deskhand("--help")
    assert shown.status == 0
    for command in ("serve", "run", "tasks", "submit", "rounds", "replay", "doctor", "bench", "study"):
        assert command in shown.out


def test_lists_read_an_empty_store(deskhand: Deskhand) -> None:
    for arguments in (["trajectories", "list"], ["policies", "list"]):
        result = deskhand(*arguments)
        assert result.status == 0 and "Traceback" not in result.err


def test_a_broken_configuration_file(tmp_path: Path, deskhand: Deskhand) -> None:
    (tmp_path / "config.yaml").write_text("port: many")
    result = deskhand("serve", home=tmp_path)
    assert result.status == 2 and "port" in result.err


def test_the_file_names_tasks_and_programs(tmp_path: Path, deskhand: Deskhand) -> None:
    (tmp_path / "mine.yaml").write_text(
        "family: mine\nenvironment: {kind: fake}\ntasks:\n"
        "- {name: look, description: It looks., instruction: Look., verifier: {name: fake}}\n"
    )
    (tmp_path / "config.yaml").write_text(f"tasks: [{tmp_path}/mine.yaml]\nchromium: /nowhere/chromium\n")
    listed = deskhand("tasks", "list", "mine/", home=tmp_path)
    assert listed.status == 0 and "mine/look" in listed.out, listed.err
    assert "/nowhere/chromium" in deskhand("doctor", home=tmp_path).out


def test_doctor_names_what_mends(deskhand: Deskhand, monkeypatch: pytest.MonkeyPatch) -> None:
    # what is found out without a PATH is not kept for other tests
    monkeypatch.setattr(Confinement, "available", functools.cache(Confinement.available.__wrapped__))
    result = deskhand("doctor", PATH="/nowhere")
    assert result.status == 1 and "apt-get install chromium" in result.out
    result = deskhand("doctor", DESKHAND_CHROMIUM="/nowhere/chromium")
    assert result.status == 1 and "/nowhere/chromium" in result.out  # what sandboxes would start


def test_doctor_looks_at_pools_of_the_settings(tmp_path: Path, deskhand: Deskhand) -> None:
    assert "pools of sandboxes in the settings: none" in deskhand("doctor", home=tmp_path).out
    (tmp_path / "config.yaml").write_text("sandbox: {pools: {vm: {settings: {image: /nowhere/disk}}}}")
    result = deskhand("doctor", home=tmp_path)
    assert result.status == 1 and "no disk image at /nowhere/disk" in result.out


def test_a_stale_token_file_is_not_enough(tmp_path: Path, deskhand: Deskhand) -> None:
    write_private(tmp_path / "token", "wrong")
    result = deskhand("rounds", "list", home=tmp_path, DESKHAND_URL="http://127.0.0.1:9")
    assert result.status == 1 and "no platform answers" in result.err
