"""The flywheel's measurements at the smallest size: every figure is there, and the deaths lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_platform.bench.flywheel.__main__ import main
from deskhand_platform.bench.flywheel.crash import bench_crash
from deskhand_platform.bench.flywheel.durable import bench_durable
from deskhand_platform.bench.flywheel.episodes import screens
from deskhand_platform.bench.flywheel.lists import FILTERS, bench_lists
from deskhand_platform.bench.flywheel.replay import bench_replay
from deskhand_platform.bench.flywheel.size import bench_size
from deskhand_trainer.results import read_figures


def test_pictures_are_told_apart_and_still_pictures() -> None:
    shown = screens("a")
    first, second = next(shown), next(shown)
    assert first.digest != second.digest and next(screens("a")) == first != next(screens("b"))
    assert len(first.data or b"") > 20_000


def test_both_sides_write_the_same_steps() -> None:
    together, alone = bench_durable(steps=32, repeats=2)
    assert (together.name, together.goal, alone.name) == (
        "store_vs_sqlite",
        ">= 0.5",
        "store_vs_sqlite_alone",
    )
    for figure in (together, alone):
        assert figure.low is not None and figure.high is not None
        assert 0 < figure.low <= figure.value <= figure.high


async def test_bytes_of_real_episodes() -> None:
    (figure,) = await bench_size(episodes=1, tabs=2)
    assert figure.name == "bytes_stored_vs_raw" and figure.value > 0 and "6 episodes" in figure.note


async def test_a_replay_s_first_frame() -> None:
    (figure,) = await bench_replay(steps=60, repeats=2)
    assert figure.name == "replay_first_frame_ms" and figure.value > 0


async def test_lists_in_both_databases() -> None:
    said: list[str] = []
    both, sqlite, postgresql = await bench_lists(trajectories=60, steps=2, repeats=1, say=said.append)
    assert both.value == max(sqlite.value, postgresql.value) > 0
    assert len(said) == 2 * (2 + len(FILTERS))


async def test_no_step_is_lost_by_kill_9() -> None:
    (figure,) = await bench_crash(deaths=2, seed=1, say=lambda _: None)
    assert (figure.value, figure.met) == (0, True)


def test_figures_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "replay", "--length", "3", "--openings", "1", "--results", str(tmp_path)]) == 0
    assert [figure.name for figure in read_figures(tmp_path / "flywheel.json")] == ["replay_first_frame_ms"]
    assert "replay_first_frame_ms" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--deaths", "0"])
