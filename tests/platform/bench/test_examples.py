"""Examples per second, measured on a real Chromium for a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskhand_platform.bench.examples import _spread, main

pytestmark = pytest.mark.browser


def test_the_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tabs", "4", "--seconds", "1", "--repeats", "2", "--questions", "4"]
    assert main([*words, "--results", str(tmp_path)]) == 0
    figure = json.loads((tmp_path / "base.json").read_text())["figures"]["examples_per_s"]
    assert 0 < figure["low"] <= figure["value"] <= figure["high"]
    assert figure["goal"] == ">= 200"
    assert figure["config"]["sizes"] == ["", "-wide", "-large", ""]
    assert figure["config"]["worked"] == [False, False, False, True]
    assert "examples_per_s" in (tmp_path / "README.md").read_text()
    assert capsys.readouterr().out.count("examples/s") == 3


def test_tabs_are_spread_over_the_sizes() -> None:
    shares = {("", False): 12, ("-wide", False): 3, ("-large", True): 1}
    small, wide, large = shares
    assert _spread(shares, 2) == [small, wide]
    assert sorted(_spread(shares, 8)) == [small] * 6 + [large, wide]
    assert sorted(_spread(shares, 16)) == [small] * 12 + [large] + [wide] * 3


def test_numbers_must_be_positive(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--tabs", "0"])
    assert "must be positive" in capsys.readouterr().err
