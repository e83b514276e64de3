"""What the training thread tells the events, when the store is slow or gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_kinds.context import RunContext
from deskhand_trainer.run_kinds.training_thread import Teller


async def test_figures_still_under_way_are_waited_for_and_lost_ones_are_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    written: list[int] = []
    trained = asyncio.Event()

    class Reporter:
        async def metric(self, name: str, values: object, *, step: int) -> None:
            await trained.wait()
            if step == 1:
                raise StoreUnavailable("the database is gone")
            written.append(step)

    context = cast("RunContext", cast(Any, SimpleNamespace(folder=RunFolder(tmp_path), reporter=Reporter())))
    teller = Teller(context, "warm start", "sft")

    def train() -> None:
        for step in (1, 2, 3):
            teller(StageProgress(stage="cloning", step=step, steps=3, loss=0.5, figures={"loss": 0.5}))

    await asyncio.to_thread(train)
    assert written == []
    trained.set()
    await teller.all_told()
    assert written == [2, 3]
    assert "figures of warm start are lost: the database is gone" in capfd.readouterr().out
