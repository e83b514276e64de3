"""A video of what an agent saw: every screen it was shown, for as long as it was shown.

async with recorded(sandbox, Path("episode.mp4")) as sandbox:
    await sandbox.reset(task)
    await sandbox.act(Click(x=40, y=52))
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError
from PIL import Image as Picture

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.doors.onlooker import Onlooked
from deskhand_sandbox.errors import InfrastructureError, InvalidTask
from deskhand_sandbox.types import Observation

CODECS: Mapping[str, str] = {".mp4": "libx264", ".webm": "libvpx-vp9"}
"""By the file's suffix."""
TICK = Fraction(1, 1000)
"""Times of frames are milliseconds."""
LAST_FRAME_S = 1.0
"""How long the last screen stays."""


@asynccontextmanager
async def recorded(sandbox: Sandbox, path: Path) -> AsyncGenerator[Sandbox, None]:
    """The sandbox, each of whose screens goes into a video; the video is whole at the block's end.

    Args:
        path: .mp4 (H.264) or .webm (VP9). It appears when it is whole, in place of what was there.

    Raises:
        InvalidTask: another suffix.
        InfrastructureError: the file cannot be written.
    """
    if path.suffix not in CODECS:
        raise InvalidTask(f"a video's name ends in {' or '.join(CODECS)}, not as {path.name!r} does")
    video = _Video(path.with_name(f".{path.stem}.draft{path.suffix}"), CODECS[path.suffix])

    async def keep(seen: Observation) -> None:
        if seen.screenshot.data is not None:
            await asyncio.to_thread(video.add, seen.screenshot.data)

    try:
        yield Onlooked(sandbox, keep)
        await asyncio.to_thread(video.finish, path)
    finally:
        await asyncio.to_thread(video.abandon)


class _Video:
    """Frames with the times at which they were seen."""

    def __init__(self, draft: Path, codec: str) -> None:
        self._draft = draft
        self._codec = codec
        self._container: Any = None
        self._stream: Any = None
        self._size_px = (0, 0)
        """Of the first screen; an encoder's are even."""
        self._began_s = 0.0
        self._last: tuple[int, Any] | None = None

    def add(self, data: bytes) -> None:
        """One screen, shown from now on.

        Raises:
            InfrastructureError: the file cannot be written.
        """
        picture = Picture.open(io.BytesIO(data)).convert("RGB")
        now_s = time.monotonic()
        try:
            if self._container is None:
                self._begin(picture.size, now_s)
            elif picture.size != self._size_px:
                picture = picture.resize(self._size_px)
            self._encode(int((now_s - self._began_s) * 1000), picture)
        except (OSError, FFmpegError) as error:
            raise InfrastructureError(
                f"the video in {self._draft.parent} cannot be written: {error}"
            ) from error

    def finish(self, path: Path) -> None:
        """Write what is left, and put the file in its place; no file where nothing was seen.

        Raises:
            InfrastructureError: it cannot be written.
        """
        if self._container is None or self._last is None:
            return
        at_ms, picture = self._last
        try:
            self._encode(
                max(at_ms + 1, int((time.monotonic() - self._began_s + LAST_FRAME_S) * 1000)), picture
            )
            for packet in self._stream.encode():
                self._container.mux(packet)
            self._container.close()
            self._container = None
            self._draft.replace(path)
        except (OSError, FFmpegError) as error:
            raise InfrastructureError(f"{path} cannot be written: {error}") from error

    def abandon(self) -> None:
        """Remove a draft that was not finished."""
        if self._container is not None:
            self._container.close()
            self._container = None
        self._draft.unlink(missing_ok=True)

    def _begin(self, size_px: tuple[int, int], now_s: float) -> None:
        self._size_px = size_px
        self._container = av.open(str(self._draft), "w")
        self._stream = self._container.add_stream(self._codec, rate=30)
        self._stream.width, self._stream.height = (
            side + side % 2 for side in size_px
        )  # chroma comes in pairs
        self._stream.pix_fmt = "yuv420p"
        self._stream.time_base = self._stream.codec_context.time_base = TICK
        self._began_s = now_s

    def _encode(self, at_ms: int, picture: Any) -> None:
        size = (self._stream.width, self._stream.height)
        if picture.size != size:
            padded = Picture.new("RGB", size)
            padded.paste(picture)
            picture = padded
        if self._last is not None:
            at_ms = max(at_ms, self._last[0] + 1)
        frame = av.VideoFrame.from_image(picture)
        frame.pts, frame.time_base = at_ms, TICK
        for packet in self._stream.encode(frame):
            self._container.mux(packet)
        self._last = at_ms, picture
