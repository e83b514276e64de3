"""Programs that submit tasks by the command line, to a platform that works them in fake sandboxes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from served_platform import Platform


def deskhand(platform: Platform, *arguments: str, told: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deskhand_platform.cli.app", *arguments],
        env={**os.environ, "DESKHAND_HOME": str(platform.home), "COLUMNS": "200"},
        input=told,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_file_of_tasks_is_worked_once_however_often_it_is_sent(platform: Platform) -> None:
    tasks = [{"task_id": "fake/press-button", "seed": seed, "key": f"file-{seed}"} for seed in range(12)]
    lines = "\n".join(map(json.dumps, tasks)) + "\n\n"
    first = deskhand(platform, "tasks", "submit", "-", told=lines)
    assert first.returncode == 0, first.stderr
    ids = first.stdout.split()
    assert len(set(ids)) == 12
    assert deskhand(platform, "tasks", "submit", "-", told=lines).stdout.split() == ids
    deadline = time.monotonic() + 240
    while any(platform.get(f"/v1/tasks/{id}")["state"] in ("queued", "running") for id in ids):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    kept = [platform.get(f"/v1/tasks/{id}") for id in ids]
    assert [one["outcome"]["success"] for one in kept] == [True] * 12
    episodes = platform.get("/v1/trajectories?task_id=fake/press-button&limit=200")["items"]
    assert sorted(one["labels"]["task"] for one in episodes if one["labels"].get("task") in ids) == sorted(
        ids
    )


def test_what_is_wrong_with_a_file_or_a_deadline_is_said(platform: Platform) -> None:
    for told, said in (
        ('{"task_id": "fake/press-button"}\n{"task_id": "fake/press-buton"}', "line 2.task_id"),
        ("3", "line 1"),
    ):
        refused = deskhand(platform, "tasks", "submit", "-", told=told)
        assert refused.returncode != 0 and said in refused.stderr and "Traceback" not in refused.stderr
    late = deskhand(platform, "submit", "fake/press-button", "--within", "1e-6", "--wait")
    assert late.returncode == 1 and "deadline passed" in late.stderr + late.stdout
    id = late.stdout.split()[0]
    assert deskhand(platform, "tasks", "retry", id).stdout.strip() == "queued"
