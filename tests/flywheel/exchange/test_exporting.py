"""What an export that is cancelled leaves, and where one goes."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flywheel_episodes import make_end, make_trajectory, write

from deskhand_flywheel.errors import FolderTaken
from deskhand_flywheel.exchange import Recorded, export_trajectories
from deskhand_flywheel.exchange.types import Add, Format
from deskhand_flywheel.store import Store


async def test_a_cancelled_export_waits_for_what_is_being_written_and_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, ended = (threading.Event() for _ in range(3))

    @contextmanager
    def slow(folder: Path) -> Generator[Add]:
        def add(recorded: Recorded) -> None:
            began.set()
            go_on.wait(60)
            (folder / "sub").mkdir(parents=True)
            ended.set()

        yield add

    def named(name: str) -> Format:
        return Format(name=name, write=slow, growing=lambda folder: ())

    monkeypatch.setattr(sys.modules[export_trajectories.__module__], "format_named", named)
    await write(store, make_trajectory("one", end=make_end()))
    there = {path.name for path in tmp_path.iterdir()}
    exporting = asyncio.create_task(export_trajectories(store, ["one"], tmp_path / "out", "slow"))
    await asyncio.to_thread(began.wait)
    exporting.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not exporting.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await exporting
    assert ended.is_set()
    assert {path.name for path in tmp_path.iterdir()} == there


async def test_an_export_takes_the_place_of_an_empty_folder_but_not_of_the_one_one_is_in(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(store, make_trajectory("one", end=make_end()))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(FolderTaken, match="the folder you are in"):
        await export_trajectories(store, ["one"], Path(), "ui-tars")
    assert list((tmp_path / "empty").iterdir()) == []
    monkeypatch.chdir(tmp_path)
    await export_trajectories(store, ["one"], Path("link"), "ui-tars")
    assert (tmp_path / "empty" / "conversations.jsonl").is_file() and (tmp_path / "link").is_symlink()
