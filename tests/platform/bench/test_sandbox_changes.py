from __future__ import annotations

import pytest

from deskhand_platform.bench.sandbox.changes import bench_changes


@pytest.mark.slow
@pytest.mark.browser
async def test_changes_of_task_are_measured_with_and_without_a_new_context() -> None:
    said: list[str] = []
    figures = {each.name: each for each in await bench_changes(1, said.append)}
    assert list(figures) == [
        "browser_change_processor_ms",
        "browser_new_context_processor_ms",
        "browser_change_vs_new_context",
    ]
    assert all(each.value > 0 for each in figures.values())
    assert len(said) == 1
