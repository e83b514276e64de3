"""Collecting runs: what they hold of what they have played, and what they go on with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deskhand_trainer.rollouts import Collected
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_kinds import collect
from deskhand_trainer.run_process import FINISHED

CONFIG = {"tasks": ["fake/press-button"], "episodes_per_task": 3}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[Collected]:
    """What each life of a run has in memory when it counts."""
    seen: list[Collected] = []
    count = getattr(collect, "_metrics")  # noqa: B009

    def counts(collected: Collected) -> Any:
        seen.append(collected)
        return count(collected)

    monkeypatch.setattr(collect, "_metrics", counts)
    return seen


def run(home: Path) -> dict[str, Any]:
    folder = RunFolder(home / "run")
    folder.path.mkdir(exist_ok=True)
    urls = {"store_url": f"sqlite+aiosqlite:///{home}/store.db", "blobs_url": f"file://{home}/blobs"}
    spec = {"id": "run", "kind": "collect", "config": CONFIG, **urls}
    (folder.path / "spec.json").write_text(json.dumps(spec))
    assert _guarded(folder) == FINISHED
    return json.loads((folder.path / "result.json").read_text())["metrics"]


def test_no_screen_and_no_reply_is_held_or_read_again(tmp_path: Path, held: list[Collected]) -> None:
    first = run(tmp_path)
    assert (first["episodes"], first["successes"], first["reused"]) == (3, 3, 0) and first["steps"] >= 3
    # it died before it said so
    (tmp_path / "run" / "result.json").unlink()
    shutil.rmtree(tmp_path / "blobs")
    again = run(tmp_path)
    assert (again["reused"], again["left_out"], again["steps"]) == (3, 0, first["steps"])
    assert again["successes"] == 3
    for collected in held:
        for trajectory in collected.trajectories:
            assert trajectory.end is not None and trajectory.end.final_observation is None
            assert not any(step.observation.screenshot.data for step in trajectory.steps)
            assert not any(step.decision.text for step in trajectory.steps)
