"""The API's measurements at the smallest size: every figure is there, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_platform.bench.api.__main__ import main
from deskhand_platform.bench.api.draining import bench_draining
from deskhand_platform.bench.api.submitting import bench_submitting
from deskhand_trainer.results import read_figures


@pytest.mark.slow
async def test_submissions_beside_the_least_there_can_be() -> None:
    ratio, wait = await bench_submitting(submissions=20, pairs=2, seconds=1)
    assert (ratio.name, ratio.goal, wait.name, wait.goal) == (
        "submit_vs_bare", ">= 0.6", "p99_ms_at_200", "<= 50",
    )  # fmt: skip
    assert ratio.low is not None and ratio.high is not None
    assert 0 < ratio.low <= ratio.value <= ratio.high
    assert wait.value > 0


@pytest.mark.slow
async def test_nothing_is_lost_and_everybody_is_told() -> None:
    said: list[str] = []
    lost, wait, drained = await bench_draining(tasks=60, streams=5, told=4, say=said.append)
    assert [(one.name, one.value) for one in (lost, drained)] == [("sse_lost", 0), ("drained_lost", 0)]
    assert wait.name == "sse_ms" and len(said) == 2


@pytest.mark.slow
def test_figures_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--submissions", "10", "--pairs", "1", "--seconds", "1", "--results", str(tmp_path)]
    assert main(["--only", "submitting", *small]) == 0
    assert {one.name for one in read_figures(tmp_path / "api.json")} == {"submit_vs_bare", "p99_ms_at_200"}
    assert "submit_vs_bare" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--pairs", "0"])
