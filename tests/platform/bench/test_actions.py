"""How fast a model acts, measured on a real Chromium for a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_flywheel.policies import manifest_of
from deskhand_platform.bench.actions import main
from deskhand_trainer.studies.runs import model_named

pytestmark = pytest.mark.browser


def test_the_figures_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deskhand_platform.bench.actions.ALONE_EPISODES", 2)
    save_bundle(build_tiny(TinyConfig(vision_depth=1, text_depth=1)), tmp_path / "model")
    words = ["--environments", "2", "--episodes", "4", "--repeats", "2", "--results", str(tmp_path)]
    assert main([str(tmp_path / "model"), *words]) == 0
    figures = json.loads((tmp_path / "base.json").read_text())["figures"]
    assert set(figures) == {"actions_per_s_2", "ms_per_action", "acting_memory_mib"}
    rate, alone = figures["actions_per_s_2"], figures["ms_per_action"]
    assert 0 < rate["low"] <= rate["value"] <= rate["high"] and rate["goal"] == ">= 8"
    assert 0 < alone["low"] <= alone["value"] <= alone["high"]
    assert 100 < figures["acting_memory_mib"]["value"] < 8_000
    for figure in figures.values():
        assert figure["command"] == f"deskhand bench actions {tmp_path / 'model'}"
        assert figure["config"]["model"] == model_named(manifest_of(tmp_path / "model"))
    assert "ms_per_action" in capsys.readouterr().out


def test_what_is_no_model_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path / "home"))
    assert main(["no-such-policy", "--results", str(tmp_path / "results")]) == 1
    assert "cannot measure: no policy 'no-such-policy'" in capsys.readouterr().err
    assert main(["no-such-policy"]) == 1
    assert "are of deskhand-tiny: name another place for others" in capsys.readouterr().err
