"""Frames kept once: without loss unless told otherwise, and measured."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, write
from PIL import Image as Pil
from PIL import ImageDraw

from deskhand_agent.types import Trajectory
from deskhand_flywheel.store import Store
from deskhand_sandbox.pictures import as_image, encoded
from deskhand_sandbox.types import Image

SIZE = (160, 100)


def _screen(*, caret: bool = False, text: str = "page", **options: int) -> Image:
    drawn = Pil.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(drawn)
    pen.text((8, 8), text, fill="black")
    if caret:
        pen.line((60, 40, 60, 49), fill="black")
    return encoded(drawn, **options)


def _episode(name: str, frames: list[Image], final: Image) -> Trajectory:
    steps = tuple(make_step(index, image=frame) for index, frame in enumerate(frames))
    # a window of two: the model is shown the frame before, too
    shown = [
        replace(step.decision.request, images=tuple(frames[max(0, index - 1) : index + 1]))
        for index, step in enumerate(steps)
        if step.decision.request is not None
    ]
    steps = tuple(
        replace(step, decision=replace(step.decision, request=request))
        for step, request in zip(steps, shown, strict=True)
    )
    seen = make_end().final_observation
    assert seen is not None
    return make_trajectory(name, steps=steps, end=make_end(final_observation=replace(seen, screenshot=final)))


async def _blobs(store: Store) -> set[str]:
    return {blob.digest async for batch in store.blobs.stored() for blob in batch}


def _pixels(data: bytes | None) -> bytes:
    return Pil.open(io.BytesIO(data or b"")).convert("RGBA").tobytes()


async def test_an_unchanged_screen_is_kept_once_by_its_bytes(store: Store) -> None:
    assert _screen() == _screen()
    await write(store, _episode("a", [_screen()] * 5, _screen()))
    assert await _blobs(store) == {_screen().digest}


async def test_by_default_the_record_shows_the_very_bytes_that_were_seen(store: Store) -> None:
    frames = [_screen(), _screen(compress_level=1), _screen(caret=True)]
    written = _episode("a", frames, _screen())
    await write(store, written)
    assert await store.trajectory("a") == written
    assert await _blobs(store) == {frame.digest for frame in frames}


async def test_within_nothing_only_equal_pixels_share_a_blob(urls: Urls) -> None:
    frames = [_screen(), _screen(compress_level=1), _screen(caret=True), _screen(compress_level=9)]
    assert len({frame.digest for frame in frames}) == 4
    written = _episode("a", frames, _screen(compress_level=1))
    async with await Store.open(urls.database, urls.blobs, near_frames=0.0) as store:
        await write(store, written)
        read = await store.trajectory("a", images=True)
        assert all(step.decision.trainable for step in read.steps)
        # the last two follow a screen with a caret, and are kept as a change from it
        assert len(await _blobs(store)) == 3
        assert read.steps[1].observation.screenshot.digest == frames[0].digest
    for before, after in zip(written.steps, read.steps, strict=True):
        assert before.decision.request is not None and after.decision.request is not None
        seen = zip(before.decision.request.images, after.decision.request.images, strict=True)
        for was, kept in [(before.observation.screenshot, after.observation.screenshot), *seen]:
            assert _pixels(was.data) == _pixels(kept.data)
    async with await Store.open(urls.database, urls.blobs, near_frames=0.0) as store:
        read = await store.trajectory("a", images=True)
        assert read.end is not None and read.end.final_observation is not None
        assert _pixels(read.end.final_observation.screenshot.data) == _pixels(_screen().data)


async def test_a_store_that_is_told_so_takes_a_caret_for_no_change(urls: Urls) -> None:
    caret = 10 / (SIZE[0] * SIZE[1])
    frames = [_screen(), _screen(caret=True), _screen(), _screen(text="another page")]
    for within, kept in ((caret, 2), (caret * 0.99, 3)):
        own = Urls(folder=urls.folder / str(within))
        async with await Store.open(own.database, own.blobs, near_frames=within) as store:
            await write(store, _episode("a", frames, frames[-1]))
            assert len(await _blobs(store)) == kept
            # what the model was shown is no longer known to the pixel: steps 1 and 2 were shown the caret
            trainable = [step.decision.trainable for step in (await store.trajectory("a")).steps]
            assert trainable == ([True, False, False, True] if kept == 2 else [True] * 4)


async def test_an_episode_played_elsewhere_stays_as_it_is(urls: Urls) -> None:
    frames = [_screen(), _screen(compress_level=1), _screen(caret=True)]
    whole = _episode("a", frames, _screen(compress_level=1))
    async with await Store.open(urls.database, urls.blobs, near_frames=0.01) as store:
        await store.add_trajectory(whole)
        assert await store.trajectory("a", images=True) == whole
        assert await _blobs(store) == {frame.digest for frame in frames}


async def test_small_changes_do_not_add_up(urls: Urls) -> None:
    """Each frame is compared with what was kept, not with the one before it."""
    drawn = Pil.new("RGB", SIZE, "white")
    frames: list[Image] = []
    for row in range(10):
        ImageDraw.Draw(drawn).line((0, row, SIZE[0], row), fill="black")
        frames.append(encoded(drawn))
    async with await Store.open(urls.database, urls.blobs, near_frames=0.025) as store:
        await write(store, _episode("a", frames, frames[-1]))
        read = await store.trajectory("a", images=True)
    for was, step in zip(frames, read.steps, strict=True):
        now, before = _pixels(step.observation.screenshot.data), _pixels(was.data)
        differ = sum(now[n : n + 4] != before[n : n + 4] for n in range(0, len(now), 4))
        assert differ / (SIZE[0] * SIZE[1]) <= 0.025


async def test_writing_twice_and_other_sizes_and_no_picture_at_all(urls: Urls) -> None:
    frames = [
        _screen(),
        _screen(caret=True),
        encoded(Pil.new("RGB", (10, 10))),
        as_image(b"\x89PNG\r\n\x1a\nno picture", SIZE),
        as_image(b"no picture either", SIZE),
    ]
    written = _episode("a", frames, frames[-1])
    async with await Store.open(urls.database, urls.blobs, near_frames=0.5) as store:
        await store.begin(written.start)
        for step in written.steps:
            await store.step("a", step)
            await store.step("a", step)
        assert written.end is not None
        await store.end("a", written.end)
        await store.end("a", written.end)
        assert await _blobs(store) == {frames[n].digest for n in (0, 2, 3, 4)}


@pytest.mark.parametrize("last", [_screen(), _screen(caret=True), _screen(text="another page"), None])
async def test_of_an_episode_that_has_ended_no_pixels_are_remembered(urls: Urls, last: Image | None) -> None:
    written = _episode("a", [_screen()] * 2, last or _screen())
    assert written.end is not None
    end = written.end if last is not None else replace(written.end, final_observation=None)
    async with await Store.open(urls.database, urls.blobs, near_frames=0.01) as store:
        await write(store, replace(written, end=end))
        await store.end("a", end)
        assert store.near_frames is not None
        assert [kept.pixels for kept in store.near_frames._kept.values()] == [None]


@pytest.mark.parametrize("near", [None, 0.0])
async def test_an_alpha_channel_is_a_part_of_the_picture(urls: Urls, near: float | None) -> None:
    frames = [encoded(Pil.new("RGBA", SIZE, (9, 9, 9, alpha))) for alpha in (0, 255)]
    async with await Store.open(urls.database, urls.blobs, near_frames=near) as store:
        await write(store, _episode("a", frames, frames[-1]))
        assert len(await _blobs(store)) == 2
