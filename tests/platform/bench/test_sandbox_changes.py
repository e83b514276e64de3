from __future__ import annotations

import os

import pytest

from deskhand_platform.bench.sandbox.changes import bench_changes, processor_ms


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


def test_what_a_process_had_of_the_processor() -> None:
    before = processor_ms([os.getpid()])
    assert sum(range(3_000_000)) > 0
    assert processor_ms([os.getpid()]) > before
    assert processor_ms([]) == 0
