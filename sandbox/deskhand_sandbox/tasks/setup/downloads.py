"""Files from the network that tasks bring, kept on this machine by the hash of their address."""

from __future__ import annotations

import asyncio
import hashlib
import os
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from deskhand_sandbox.errors import InvalidTask

FOLDER_VARIABLE = "DESKHAND_DOWNLOADS"
CONNECT_S = 5.0
TOTAL_S = 300.0
LARGEST_BYTES = 1024 * 1024 * 1024


class Downloads:
    """A folder of files; one that is missing is fetched once."""

    def __init__(self, folder: Path | None = None) -> None:
        """
        Args:
            folder: None: $DESKHAND_DOWNLOADS, else `deskhand/downloads` in the user's cache folder.
        """
        self.folder = folder or _folder()

    def place(self, url: str) -> Path:
        """Where the file of an address lies, or is to be put."""
        return self.folder / hashlib.sha256(url.encode()).hexdigest()

    async def get(self, url: str) -> bytes:
        """The file of an address.

        Raises:
            InvalidTask: it is not here and cannot be fetched; says why and where to put it.
        """
        place = self.place(url)
        try:
            return await asyncio.to_thread(place.read_bytes)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise InvalidTask(f"{place}, kept for {url}, cannot be read: {error.strerror}") from error
        data = await self._fetch(url)
        await asyncio.to_thread(_keep, place, data)
        return data

    async def read(self, name: str) -> bytes:
        """A file of the folder by its name: of this machine's files, tasks read no others.

        Raises:
            InvalidTask: it is not there, or lies outside.
        """
        place = (self.folder / name).resolve()
        if not place.is_relative_to(self.folder.resolve()):
            raise InvalidTask(f"{name} lies outside {self.folder}: put what tasks upload in there")
        try:
            return await asyncio.to_thread(place.read_bytes)
        except OSError as error:
            raise InvalidTask(f"{place} cannot be read: {error.strerror}") from error

    async def _fetch(self, url: str) -> bytes:
        if urlsplit(url).scheme not in ("http", "https"):
            raise self._missing(url, "only http and https addresses are fetched")
        data = bytearray()
        try:
            async with (
                asyncio.timeout(TOTAL_S),
                httpx.AsyncClient(timeout=httpx.Timeout(60.0, connect=CONNECT_S)) as client,
                client.stream("GET", url, follow_redirects=True) as response,
            ):
                response.raise_for_status()
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > LARGEST_BYTES:
                        raise self._missing(url, f"it is larger than {LARGEST_BYTES} bytes")
        except httpx.HTTPStatusError as error:
            raise self._missing(url, f"the server answered {error.response.status_code}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._missing(url, str(error) or type(error).__name__) from error
        except TimeoutError as error:
            raise self._missing(url, f"it took longer than {TOTAL_S:g} s") from error
        return bytes(data)

    def _missing(self, url: str, why: str) -> InvalidTask:
        return InvalidTask(f"{url} cannot be downloaded ({why}): put the file at {self.place(url)}")


def _folder() -> Path:
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "deskhand" / "downloads"


def _keep(place: Path, data: bytes) -> None:
    """Put the file in place whole; where it cannot be kept, it is fetched again the next time."""
    partial = place.with_name(f"{place.name}.{uuid.uuid4().hex}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(place)
    except OSError:
        partial.unlink(missing_ok=True)
