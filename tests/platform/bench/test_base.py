"""A base model measured on pages a real Chromium draws from test seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_flywheel.policies import manifest_of
from deskhand_platform.bench.base import FIGURES, main
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
    assert pointing["command"] == f"deskhand bench base {words[0]} --pages 2 --sizes 160x210 320x240"
    assert pointing["config"]["model"] == model_named(manifest_of(tmp_path / "model"))
    assert "point_unseen" in capsys.readouterr().out


def test_what_is_no_model_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DESKHAND_HOME", str(tmp_path / "home"))
    assert main(["no-such-policy", "--pages", "1"]) == 1
    assert "cannot measure" in capsys.readouterr().err
