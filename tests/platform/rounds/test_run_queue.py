from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from deskhand_platform.rounds import run_queue
from deskhand_platform.rounds.run_queue import state_of, work_through
from deskhand_platform.states import WorkState


async def test_a_deleted_folder_holds_up_none_that_wait_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_queue, "POLL_S", 0.0)
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.json").write_text("{}")
    brought: list[str] = []
    last = asyncio.Event()

    async def bring(folder: Path) -> None:
        brought.append(folder.name)
        if folder.name == "a":
            shutil.rmtree(folder)
        if folder.name == "c":
            last.set()
            await asyncio.Event().wait()
        (folder / "log.txt").write_text("begun")
        raise OSError("no room")

    lane = asyncio.create_task(work_through(lambda: sorted(tmp_path.iterdir()), bring))
    waiting = asyncio.create_task(last.wait())
    await asyncio.wait([lane, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert brought == ["a", "b", "c"]
    assert state_of(tmp_path / "b") == (WorkState.FAILED, "no room")
    lane.cancel()
    await asyncio.gather(lane, waiting, return_exceptions=True)


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_the_one_it_befell_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run_queue, "POLL_S", 0.0)
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.json").write_text("{}")
    looks, last = 0, asyncio.Event()

    def asked() -> list[Path]:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise RuntimeError("odd look")
        return sorted(tmp_path.iterdir())

    async def bring(folder: Path) -> None:
        if folder.name == "a":
            raise KeyError("kind")
        last.set()
        await asyncio.Event().wait()

    lane = asyncio.create_task(work_through(asked, bring))
    waiting = asyncio.create_task(last.wait())
    await asyncio.wait([lane, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert last.is_set()
    state, reason = state_of(tmp_path / "a")
    assert (state, reason) == (WorkState.FAILED, "KeyError: 'kind'; the traceback is in the platform's log")
    assert 'raise RuntimeError("odd look")' in caplog.text and 'raise KeyError("kind")' in caplog.text
    lane.cancel()
    await asyncio.gather(lane, waiting, return_exceptions=True)
