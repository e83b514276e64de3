"""A base model measured on pages a real Chromium draws from test seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_flywheel.policies import manifest_of
from deskhand_platform.bench.base import FIGURES, draw, main
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import Split, Task
from deskhand_trainer.studies.runs import model_named

pytestmark = pytest.mark.browser


def test_a_fresh_model_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = TinyConfig(vision_depth=1, text_depth=1, max_side_px=448, vocabulary="pages")
    save_bundle(build_tiny(config), tmp_path / "model")
    words = [str(tmp_path / "model"), "--pages", "2", "--sizes", "160x210", "320x240"]
    assert main([*words, "--results", str(tmp_path / "results")]) == 0
    found = json.loads((tmp_path / "results/base.json").read_text())["figures"]
    assert set(found) <= {name for name, _ in FIGURES.values()}
    assert {"point_unseen", "read_exact", "what_changed", "which_action"} <= set(found)
    assert {"point_placed", "read_box"} <= set(found)
    assert "chance 0." in found["what_changed"]["note"]
    pointing = found["point_unseen"]
    assert pointing["low"] <= pointing["value"] <= pointing["high"]
    assert pointing["goal"] == ">= 0.97"
    assert "of 4 questions; chance 0." in pointing["note"]
    assert pointing["config"]["layouts"] == "unseen"
    assert "words of 12 letters at most that no training page shows" in found["read_exact"]["note"]
    assert pointing["command"] == f"deskhand bench base {words[0]} --pages 2 --sizes 160x210 320x240"
    assert pointing["config"]["model"] == model_named(manifest_of(tmp_path / "model"))
    assert "point_unseen" in capsys.readouterr().out


def test_what_is_no_model_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path / "home"))
    assert main(["no-such-policy", "--pages", "1", "--results", str(tmp_path / "results")]) == 1
    assert "cannot measure: no policy 'no-such-policy'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "other", [["."], ["deskhand-tiny", "--pages", "1"], ["deskhand-tiny", "--sizes", "160x210"]]
)
def test_other_figures_are_not_published_as_those_of_the_package(
    other: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(other) == 1
    said = capsys.readouterr().err
    assert "are of deskhand-tiny, 200 pages of every size: name another place" in said
    assert "--results my-results" in said


async def test_all_pages_are_of_test_seeds_in_unseen_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Task] = []

    async def collect(_: object, tasks: Sequence[Task], *__: object, **___: object) -> list[Any]:
        drawn.extend(tasks)
        return []

    monkeypatch.setattr("deskhand_platform.bench.base.collect", collect)
    await draw(["160x210", "448x448"], 8)
    assert len(drawn) == 2 * (8 + 2)
    assert {split_of(task.id, task.seed) for task in drawn} == {Split.TEST}
    assert all('"unseenLayouts": true' in task.environment.settings["start"] for task in drawn)  # type: ignore[operator]


def test_a_damaged_model_is_refused_before_a_page_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_bundle(build_tiny(TinyConfig(vision_depth=1, text_depth=1, vocabulary="pages")), tmp_path / "model")
    config = json.loads((tmp_path / "model/config.json").read_text())
    config["text_config"]["intermediate_size"] += 8
    (tmp_path / "model/config.json").write_text(json.dumps(config))

    async def drawn(*_: object) -> None:
        pytest.fail("pages were drawn")

    monkeypatch.setattr("deskhand_platform.bench.base.draw", drawn)
    assert main([str(tmp_path / "model"), "--results", str(tmp_path / "results")]) == 1
    assert "do not fit its config.json" in capsys.readouterr().err
