"""The reliability diagram is a PNG where it was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from deskhand_flywheel.prm.calibration import quality
from deskhand_flywheel.prm.targets import StepTarget
from deskhand_trainer.prm.reliability import draw_reliability


@pytest.mark.parametrize("name", ["plot.png", "plot.bmp", "plot"])
def test_a_diagram_is_a_png_whatever_its_file_is_called(tmp_path: Path, name: str) -> None:
    labels = [
        StepTarget(trajectory_id="a", step_index=index, label=float(index), source="human")
        for index in (0, 1)
    ]
    draw_reliability({"before": quality([0.2, 0.8], labels)}, "unseen starts", tmp_path / "new" / name)
    (drawn,) = (tmp_path / "new").iterdir()
    assert drawn.name == name and drawn.read_bytes().startswith(b"\x89PNG")
