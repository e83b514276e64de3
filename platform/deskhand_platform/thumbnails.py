"""Small pictures of screens: made once, kept in the home folder, the longest unused dropped."""

from __future__ import annotations

import asyncio
import io
import os
import secrets
from contextlib import suppress
from pathlib import Path
from threading import get_ident

from PIL import Image as Picture
from PIL import UnidentifiedImageError

from deskhand_flywheel.errors import CorruptBlob
from deskhand_flywheel.store import Store

WIDTHS = (80, 160, 320, 640)
"""Pixels; one in between is rounded up."""
MOST_BYTES = 256 << 20
_LOOK_AFTER = 500
"""One in so many that are made looks how much there is."""
_QUALITY = 70


class Thumbnails:
    """Pictures of a store, made small."""

    def __init__(self, store: Store, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._store, self._folder, self._most = store, folder, most_bytes

    async def get(self, digest: str, width: int) -> bytes:
        """A WebP of the picture, at most about so wide; never larger than it is.

        Raises:
            MissingBlob: there is no such picture.
            CorruptBlob: its bytes are no picture.
        """
        chosen = next((each for each in WIDTHS if each >= width), WIDTHS[-1])
        path = self._folder / digest[:2] / f"{digest}-{chosen}.webp"
        found = await asyncio.to_thread(_read, path)
        if found is not None:
            return found
        whole = await self._store.image(digest)
        try:
            small = await asyncio.to_thread(shrink, whole, chosen)
        except (UnidentifiedImageError, OSError, ValueError) as error:
            raise CorruptBlob(f"blob {digest} is no picture: {error}") from error
        await asyncio.to_thread(self._keep, path, small)
        return small

    def _keep(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
        draft.write_bytes(data)
        draft.replace(path)
        if secrets.randbelow(_LOOK_AFTER) == 0:
            self.trim()

    def trim(self) -> None:
        """Drop the longest unused until they take no more than they may."""
        kept: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("*/*.webp"):
            with suppress(FileNotFoundError):  # another has dropped it meanwhile
                there = path.stat()
                kept.append((there.st_mtime, there.st_size, path))
        kept.sort()
        excess = sum(size for _, size, _ in kept) - self._most
        for _, size, path in kept:
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= size


def shrink(data: bytes, width: int) -> bytes:
    """The picture as WebP, `width` pixels wide at most.

    Raises:
        UnidentifiedImageError, OSError, ValueError: the bytes are no picture.
    """
    with Picture.open(io.BytesIO(data)) as picture:
        small = picture.convert("RGB")
        small.thumbnail((width, 4 * width))
        buffer = io.BytesIO()
        small.save(buffer, "WEBP", quality=_QUALITY)
    return buffer.getvalue()


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    return data
