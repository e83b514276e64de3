"""Recordings of an episode, made only when its task asks: requests as HAR, the screen as WebM or MP4."""

from __future__ import annotations

import asyncio
import base64
import importlib
import logging
import queue
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload
from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.errors import BackendMissing, InvalidTask
from deskhand_sandbox.types import Task

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["har", "webm", "mp4"]
CODECS = {
    "webm": ("libvpx", {"deadline": "realtime", "cpu-used": "8", "crf": "20", "b": "1M"}),
    "mp4": ("libx264", {"preset": "ultrafast", "crf": "23"}),
}
"""Ending of a film's file -> its encoder and how that is told to hurry."""
MENDING = "films need the module 'av': pip install av"
JPEG_QUALITY = 80
LAST_FRAME_MS = 40
MOST_WAITING = 8
"""Pictures that wait to be encoded. Of those that come faster the last alone is kept: a film is to be
complete soon after its episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """A file that tells of one episode."""

    kind: Kind
    path: Path
    """There once the episode is over: at the latest when the sandbox has closed."""
    task_id: str
    seed: int


class Recorder:
    """What is recorded of one episode."""

    def __init__(self, task: Task, settings: PageSettings, folder: str | None) -> None:
        """
        Args:
            folder: where the files go.

        Raises:
            InvalidTask: there is no such folder.
            BackendMissing: a film is asked for, and what encodes it is not installed.
        """
        if folder is None:
            raise InvalidTask(f"task {task.id} asks for a recording: give the backend a folder, `recordings`")
        place = Path(folder)
        if not place.is_dir():
            raise InvalidTask(f"the folder for recordings, {folder}, does not exist")
        stem = f"{re.sub('[^A-Za-z0-9._-]+', '-', task.id)}-{task.seed}-{uuid.uuid4().hex[:8]}"
        har: tuple[Kind, ...] = ("har",) if settings.har else ()
        kinds = (*har, settings.video) if settings.video else har
        self.files = tuple(
            Recording(kind=kind, path=place / f"{stem}.{kind}", task_id=task.id, seed=task.seed)
            for kind in kinds
        )
        self.har = next((each.path for each in self.files if each.kind == "har"), None)
        film = next((each for each in self.files if each.kind != "har"), None)
        self._done = False
        self._film = None if film is None else Film(film.path, film.kind, settings.viewport_px)

    async def watch(self, page: CdpSession, is_in_front: Callable[[], bool]) -> None:
        """Film a tab whenever it is the one in front."""
        film = self._film
        if film is None:
            return

        def drawn(event: Payload) -> None:
            page.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})
            if is_in_front():
                film.add(event["metadata"]["timestamp"], event["data"])

        page.on("Page.screencastFrame", drawn)
        await page.send("Page.startScreencast", {"format": "jpeg", "quality": JPEG_QUALITY})

    async def finish(self) -> None:
        """Complete the film; safe to call twice."""
        if self._film is not None:
            await asyncio.to_thread(self._film.finish)
        self._done = True

    @property
    def complete(self) -> tuple[Recording, ...]:
        """The files, once the episode is over; without those that could not be written."""
        return tuple(each for each in self.files if self._done and each.path.exists())


class Film:
    """Pictures in the order they were drawn, encoded in a thread as they come; no file where that fails."""

    def __init__(self, path: Path, kind: str, size_px: tuple[int, int]) -> None:
        self._pictures: queue.SimpleQueue[tuple[float, str] | None] = queue.SimpleQueue()
        self._left_out: tuple[float, str] | None = None
        """The last picture, where it was: the film ends with it."""
        self._path = path
        self._kind = kind
        # encoders halve the colour planes
        self._size = tuple(side - side % 2 or 2 for side in size_px)
        try:
            self._av: Any = importlib.import_module("av")
        except ModuleNotFoundError as error:
            raise BackendMissing(MENDING) from error
        self._thread = threading.Thread(target=self._write_file, name="film", daemon=True)
        self._thread.start()

    def add(self, at_s: float, jpeg: str) -> None:
        """One more picture, drawn at that Unix time, as base64."""
        if not self._thread.is_alive():  # nobody would take it
            return
        picture = self._left_out = (at_s, jpeg)
        if self._pictures.qsize() < MOST_WAITING:
            self._left_out = None
            self._pictures.put(picture)

    def finish(self) -> None:
        """Encode what is left, and complete the file."""
        left_out, self._left_out = self._left_out, None
        if left_out is not None:
            self._pictures.put(left_out)
        self._pictures.put(None)
        self._thread.join()

    def _write_file(self) -> None:
        whole = False
        try:
            self._encode()
            whole = True
        except (OSError, self._av.FFmpegError) as error:
            log.error("the film %s could not be written: %s", self._path, error)
        finally:
            if not whole:
                self._path.unlink(missing_ok=True)

    def _encode(self) -> None:
        av, (codec, options) = self._av, CODECS[self._kind]
        reader = av.CodecContext.create("mjpeg", "r")
        began = last_ms = -1.0
        picture: Any = None
        with av.open(str(self._path), "w", format=self._kind) as file:
            stream = file.add_stream(codec, rate=25, options=options)
            stream.width, stream.height = self._size
            stream.pix_fmt = "yuv420p"
            stream.codec_context.time_base = Fraction(1, 1000)
            while (drawn := self._pictures.get()) is not None:
                at_s, jpeg = drawn
                began = at_s if began < 0 else began
                # each is later than the one before, by a millisecond at least
                last_ms = max(last_ms + 1, round((at_s - began) * 1000))
                for picture in reader.decode(av.Packet(base64.b64decode(jpeg))):
                    self._write(file, stream, picture, last_ms)
            if picture is not None:
                self._write(file, stream, picture, last_ms + LAST_FRAME_MS)
            for packet in stream.encode():
                file.mux(packet)

    def _write(self, file: Any, stream: Any, picture: Any, at_ms: float) -> None:
        width, height = self._size
        frame = picture.reformat(width=width, height=height, format="yuv420p")
        frame.pts, frame.time_base = int(at_ms), Fraction(1, 1000)
        for packet in stream.encode(frame):
            file.mux(packet)
