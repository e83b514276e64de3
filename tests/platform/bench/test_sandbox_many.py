"""Many sandboxes at once, few of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deskhand_platform.bench.sandbox import many
from deskhand_platform.bench.sandbox.__main__ import main


def test_as_many_worlds_as_asked_for_are_held_at_once(tmp_path: Path) -> None:
    assert main(["--only", "many", "--most", "5", "--results", str(tmp_path)]) == 0
    figures = json.loads((tmp_path / "sandbox.json").read_text())["figures"]
    held = figures["many_held"]
    assert (held["value"], held["goal"]) == (5.0, ">= 5") and held["note"].endswith("failures: none")
    assert figures["many_act_ms_p50"]["note"] == f"asked of all at once; {5 * many.ACTS} samples"
    assert figures["many_acts"]["value"] > 0


async def test_what_is_not_lent_is_no_reason_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of them has no such task; the others go on."""
    monkeypatch.setattr(many, "TASK_ID", "fake/press-button")
    figures = await many.bench_many(2, lambda _: None)
    assert [(each.name, each.value) for each in figures] == [("many_held", 0.0)]
    assert "failures: 2 " in figures[0].note
