"""What a run writes: lines for a person, or JSON that joins it with its round, episodes and sandboxes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from deskhand_flywheel.store import Store
from deskhand_trainer.run_process import FINISHED


def played(home: Path, form: str) -> tuple[str, str]:
    """What a run of two episodes wrote, and what its sandbox host did."""
    folder = home / "run"
    folder.mkdir()
    spec = {
        "id": "round-4-collect",
        "kind": "collect",
        "config": {"tasks": ["fake/press-button"], "episodes_per_task": 2},
        "store_url": f"sqlite+aiosqlite:///{home}/store.db",
        "blobs_url": f"file://{home}/blobs",
        "labels": {"round": "4", "phase": "collect"},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    run = subprocess.run(
        [sys.executable, "-m", "deskhand_trainer.run", str(folder)],
        env={**os.environ, "DESKHAND_LOGS": form, "TZ": "Asia/Tokyo"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == FINISHED, run.stdout
    [host] = (folder / "host").glob("*.log")
    return run.stdout, host.read_text()


def read(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def test_json_lines_join_run_round_trajectory_and_sandbox(tmp_path: Path) -> None:
    run, host = map(read, played(tmp_path, "json"))
    assert {(line["process"], line["run"], line["round"]) for line in run} == {
        ("run", "round-4-collect", "4")
    }
    episodes = [line for line in run if line["message"].startswith("an episode ended")]
    async with await Store.open(f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs") as s:
        assert {line["trajectory"] for line in episodes} == {*await s.trajectory_ids()}
    assert {(line["task_id"], line["outcome"]) for line in episodes} == {("fake/press-button", "success")}
    lent = [line for line in host if line["message"].startswith("lent to")]
    over = [line for line in host if line["message"].startswith("the lease is over")]
    assert {line["sandbox"] for line in episodes} <= {line["sandbox"] for line in lent}
    assert {line["lease"] for line in lent} == {line["lease"] for line in over}


def test_a_person_reads_how_the_run_goes_and_no_line_for_each_episode(tmp_path: Path) -> None:
    run, _ = played(tmp_path, "text")
    lines = run.splitlines()
    assert lines and all(re.match(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] (state|metric) ", x) for x in lines)
    assert "an episode ended" not in run
