"""Videos of what was seen, read back by a decoder."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import av
import pytest

from deskhand_sandbox.backends.fake import create
from deskhand_sandbox.doors.recording import recorded
from deskhand_sandbox.errors import InfrastructureError, InvalidTask
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click


@pytest.mark.parametrize("name", ["a.mp4", "a.webm"])
async def test_each_screen_is_in_the_video_for_its_time(tmp_path: Path, name: str) -> None:
    async with await create().create() as bare, recorded(bare, tmp_path / name) as sandbox:
        start = await sandbox.reset(make_task("fake/press-button", 1))
        await asyncio.sleep(0.3)
        for x in (20, 60):
            await sandbox.act(Click(x=x, y=60))
        await sandbox.observe()
        assert list(tmp_path.glob("a.*")) == []
    with av.open(str(tmp_path / name)) as video:
        frames = list(video.decode(video=0))
    assert len(frames) == 5
    assert (frames[0].width, frames[0].height) == start.observation.size_px
    times_s = [float(frame.time or 0) for frame in frames]
    assert times_s == sorted(times_s)
    assert times_s[1] - times_s[0] >= 0.29
    assert [path.name for path in tmp_path.iterdir()] == [name]


async def test_a_screen_of_an_odd_width_is_shown_pixel_by_pixel(tmp_path: Path) -> None:
    task = make_task("fake/press-button", 1)
    settings = {**task.environment.settings, "width_px": 161}
    odd = replace(task, environment=replace(task.environment, settings=settings))
    async with await create().create() as bare, recorded(bare, tmp_path / "a.mp4") as sandbox:
        await sandbox.reset(odd)
        await sandbox.observe()
    with av.open(str(tmp_path / "a.mp4")) as video:
        frames = [frame.to_ndarray(format="gray") for frame in video.decode(video=0)]
    assert [frame.shape for frame in frames] == [(200, 162)] * 3
    for frame in frames:  # a column that no screen has
        assert frame[100:, -1].mean() < 60 < frame[100:, -2].mean()


async def test_nothing_is_left_of_a_video_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("before")
    with pytest.raises(KeyError):
        async with await create().create() as bare, recorded(bare, path) as sandbox:
            await sandbox.reset(make_task("fake/press-button", 1))
            raise KeyError
    assert [each.name for each in tmp_path.iterdir()] == ["a.mp4"]
    assert path.read_text() == "before"


async def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    async with await create().create() as bare:
        with pytest.raises(InvalidTask, match=r"\.mp4 or \.webm"):
            async with recorded(bare, tmp_path / "a.avi"):
                pass
        with pytest.raises(InfrastructureError, match="cannot be written"):
            async with recorded(bare, tmp_path / "none" / "a.mp4") as sandbox:
                await sandbox.reset(make_task("fake/press-button", 1))
