"""What the pages of one context download: it lands beside the browser, then moves to the sandbox's folder."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deskhand_sandbox.backends.browser.cdp import Payload
from deskhand_sandbox.backends.browser.folder import DOWNLOADS, OwnFolder
from deskhand_sandbox.errors import InvalidAction

LONGEST_NAME_BYTES = 240
"""File systems take 255, of which a number after it may need some."""


@dataclass(slots=True)
class _Download:
    name: str
    received: int = 0
    state: str = "inProgress"
    too_big: bool = False


class Downloads:
    """Downloads by the number Chromium gives them, which is their file's name while they land."""

    def __init__(self, landing: Path, limit_bytes: int, cancel: Callable[[str], object]) -> None:
        """
        Args:
            landing: folder that Chromium writes to; need not exist.
            limit_bytes: what all downloads together may take.
            cancel: stops a download by its number.
        """
        self.landing = landing
        self._limit = limit_bytes
        self._cancel = cancel
        self._every: dict[str, _Download] = {}
        self._names: set[str] = set()
        self.frames: set[str] = set()
        """Frames whose documents turned out to be downloads."""
        self._ended: list[str] = []
        """Numbers of those that have ended and nobody has been told of."""
        self._quiet = asyncio.Event()
        self._quiet.set()

    @property
    def none(self) -> bool:
        """Nothing was ever downloaded."""
        return not self._every

    def began(self, event: Payload) -> None:
        """A page's download has begun (told by its page, or by the browser)."""
        number = event["guid"]
        if number not in self._every:
            self._every[number] = _Download(name=self._free_name(event["suggestedFilename"]))
            self.frames.add(event["frameId"])
            self._quiet.clear()

    def is_own(self, event: Payload) -> bool:
        """Whether a download lands in this folder, as the browser says of those it has finished."""
        return Path(event.get("filePath") or "/").parent == self.landing

    def progressed(self, event: Payload) -> None:
        """A download has come further, or has ended; those of other contexts are none of ours."""
        number = event["guid"]
        download = self._every.get(number)
        if download is None or download.state != "inProgress":
            return
        download.received = int(event["receivedBytes"])
        expected = sum(each.received for each in self._every.values()) - download.received
        expected += max(download.received, int(event["totalBytes"]))
        if expected > self._limit and not download.too_big:
            download.too_big = True
            self._cancel(number)
        download.state = event["state"]
        if download.state != "inProgress":
            self._ended.append(number)
            if all(each.state != "inProgress" for each in self._every.values()):
                self._quiet.set()

    async def finish(self, within_s: float) -> None:
        """Wait for the downloads under way, but no longer than that."""
        if self._quiet.is_set() or within_s <= 0:
            return
        try:
            async with asyncio.timeout(within_s):
                await self._quiet.wait()
        except TimeoutError:
            return

    async def deliver(self, folder: OwnFolder) -> list[str]:
        """Move what has landed into the sandbox's folder; a line for each download that has ended."""
        said: list[str] = []
        while self._ended:
            number = self._ended.pop(0)
            download, landed = self._every[number], self.landing / number
            if download.too_big:
                said.append(f"[download of {download.name} stopped: more than {self._limit} bytes]")
            elif download.state != "completed":
                said.append(f"[download of {download.name} failed]")
            else:
                said.append(await _moved(landed, f"{DOWNLOADS}/{download.name}", folder))
            await asyncio.to_thread(landed.unlink, missing_ok=True)
        return said

    async def remove(self) -> None:
        """Take away what has landed."""
        if self._every:
            await asyncio.to_thread(shutil.rmtree, self.landing, ignore_errors=True)

    def _free_name(self, suggested: str) -> str:
        name = "".join(each if each.isprintable() and each not in "/\\" else "_" for each in suggested)
        name = name.encode()[-LONGEST_NAME_BYTES:].decode(errors="ignore").strip().lstrip(".") or "download"
        stem, dot, ending = name.rpartition(".")
        tried, number = name, 0
        while tried in self._names:
            number += 1
            tried = f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"
        self._names.add(tried)
        return tried


async def _moved(landed: Path, path: str, folder: OwnFolder) -> str:
    data = await asyncio.to_thread(landed.read_bytes)
    try:
        await folder.put(path, data)
    except InvalidAction as error:  # the agent's own doing: a file where the folder was, a full disk
        return f"[download failed: {error}]"
    return f"[downloaded {path}, {len(data)} bytes]"
