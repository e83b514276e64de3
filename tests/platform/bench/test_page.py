"""The page's measurements at the smallest size, in the real browser against the real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_platform.bench.page.__main__ import main
from deskhand_trainer.results import read_figures


@pytest.mark.slow
@pytest.mark.browser
def test_every_figure_is_measured_and_nobody_is_shut_out(tmp_path: Path) -> None:
    sizes = ["--trajectories", "120", "--steps", "60", "--openings", "1"]
    assert main([*sizes, "--results", str(tmp_path)]) == 0
    figures = {figure.name: figure for figure in read_figures(tmp_path / "page.json")}
    frames = {"replay_frame_ms_p95", "list_frame_ms_p95"}
    assert set(figures) == {"first_image_ms", "list_100k_ms", "script_gzip_kb", "axe_serious"} | frames
    assert all(0 < figures[name].value <= (figures[name].high or 0) for name in frames)
    assert figures["axe_serious"].value == 0
    assert 10 < figures["script_gzip_kb"].value <= 400
    assert figures["first_image_ms"].value > 0 and figures["list_100k_ms"].value > 0


@pytest.mark.parametrize("option", ["--trajectories", "--steps", "--openings"])
def test_nothing_is_measured_of_nothing(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([option, "0"])
    assert "must be positive" in capsys.readouterr().err
