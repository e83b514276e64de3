"""Files from the network that tasks bring, kept on this machine by the hash of their address.

Whoever may send a task names addresses that this machine asks, not the sandbox: those on this machine or in
its own networks, and redirects there, are asked only at hosts that DESKHAND_DOWNLOAD_HOSTS lists. Where a
proxy of the environment asks, it decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import uuid
from functools import partial
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.tools.addresses import way_out
from deskhand_sandbox.tools.fetch import REDIRECTS, ask, client_by
from deskhand_sandbox.tools.policy import Policy

FOLDER_VARIABLE = "DESKHAND_DOWNLOADS"
FETCHED = "fetched"
"""Folder, in that one, of what was fetched; what lies beside it a person has put there."""
HOSTS_VARIABLE = "DESKHAND_DOWNLOAD_HOSTS"
"""Hosts near by that are asked, with commas between: "mirror.lan,127.0.0.1:8000"."""
CONNECT_S = 5.0
TOTAL_S = 300.0
"""Longest that a task waits for a file …"""
LONGEST_S = 3600.0
"""… and that one is fetched for, though nobody waits any more: the next who asks has it."""
LARGEST_BYTES = 1024 * 1024 * 1024

_UNDER_WAY: dict[Path, asyncio.Task[bytes]] = {}
"""Fetches of this process, by where their files are to lie."""


class Downloads:
    """A folder of files; one that is missing is fetched once."""

    def __init__(self, folder: Path | None = None) -> None:
        """
        Args:
            folder: None: $DESKHAND_DOWNLOADS, else `deskhand/downloads` in the user's cache folder.
        """
        self.folder = folder or _folder()

    def place(self, url: str) -> Path:
        """Where a person puts the file of an address."""
        return self.folder / hashlib.sha256(url.encode()).hexdigest()

    def fetched(self, url: str) -> Path:
        """Where it is kept once it was fetched."""
        return self.folder / FETCHED / self.place(url).name

    async def get(self, url: str) -> bytes:
        """The file of an address.

        Raises:
            InvalidTask: it is not here and cannot be fetched; says why and where to put it.
        """
        fetched = self.fetched(url)
        for place in (self.place(url), fetched):
            try:
                return await asyncio.to_thread(_used, place)
            except FileNotFoundError:
                pass
            except OSError as error:
                raise InvalidTask(f"{place}, kept for {url}, cannot be read: {error.strerror}") from error
        try:
            async with asyncio.timeout(TOTAL_S):
                return await asyncio.shield(self._fetching(url, fetched))
        except TimeoutError as error:
            why = f"it takes longer than {TOTAL_S:g} s, and is fetched on: ask again later"
            raise self._missing(url, why) from error

    def drop(self, unused_since_s: float) -> int:
        """Remove what was fetched and not used since then; how many files."""
        dropped = 0
        for each in (self.folder / FETCHED).glob("*"):
            with contextlib.suppress(OSError):  # another process was first, or it is another user's
                if each.stat().st_mtime < unused_since_s:
                    each.unlink()
                    dropped += 1
        return dropped

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

    def _fetching(self, url: str, place: Path) -> asyncio.Task[bytes]:
        """The fetch of a file, under way already or begun now; it outlives who waits for it."""
        known = _UNDER_WAY.get(place)
        if known is not None and known.get_loop() is asyncio.get_running_loop():
            return known
        fetching = asyncio.create_task(self._fetch_and_keep(url, place))
        _UNDER_WAY[place] = fetching
        fetching.add_done_callback(partial(_over, place))
        return fetching

    async def _fetch_and_keep(self, url: str, place: Path) -> bytes:
        data = await self._fetch(url)
        await asyncio.to_thread(_keep, place, data)
        return data

    async def _fetch(self, url: str) -> bytes:
        if urlsplit(url).scheme not in ("http", "https"):
            raise self._missing(url, "only http and https addresses are fetched")
        try:
            async with asyncio.timeout(LONGEST_S):
                asked = url
                for _ in range(REDIRECTS + 1):
                    led_to = await self._asked(asked)
                    if isinstance(led_to, bytes):
                        return led_to
                    asked = urljoin(asked, led_to)
        except httpx.HTTPStatusError as error:
            raise self._missing(url, f"the server answered {error.response.status_code}") from error
        except InvalidAction as error:
            near = f"{HOSTS_VARIABLE} lists such hosts that are asked all the same"
            raise self._missing(url, f"{error}; {near}") from error
        except TimeoutError as error:
            raise self._missing(url, f"it took longer than {LONGEST_S:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise self._missing(url, str(error) or type(error).__name__) from error
        raise self._missing(url, f"it leads from address to address, more than {REDIRECTS} times")

    async def _asked(self, url: str) -> bytes | str:
        """The file at an address, or where it leads."""
        proxy = way_out(url)
        neighbours = "named" if proxy is None else "allow"
        policy = Policy(rules=("allow",), neighbours=neighbours, trusted=_trusted())
        async with client_by(proxy, httpx.Timeout(60.0, connect=CONNECT_S)) as client:
            answer = await ask(client, url, "GET", {}, "", policy)
            try:
                if answer.has_redirect_location:
                    return answer.headers["Location"]
                answer.raise_for_status()
                data = bytearray()
                async for piece in answer.aiter_bytes():
                    data += piece
                    if len(data) > LARGEST_BYTES:
                        raise self._missing(url, f"it is larger than {LARGEST_BYTES} bytes")
                return bytes(data)
            finally:
                await answer.aclose()

    def _missing(self, url: str, why: str) -> InvalidTask:
        return InvalidTask(f"{url} cannot be downloaded ({why}): put the file at {self.place(url)}")


def _over(place: Path, fetching: asyncio.Task[bytes]) -> None:
    if _UNDER_WAY.get(place) is fetching:
        del _UNDER_WAY[place]
    if not fetching.cancelled():
        fetching.exception()  # it was told to whoever waited


def _trusted() -> tuple[str, ...]:
    listed = os.environ.get(HOSTS_VARIABLE, "").split(",")
    return tuple(each.strip() for each in listed if each.strip())


def _folder() -> Path:
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "deskhand" / "downloads"


def _used(place: Path) -> bytes:
    """What the file holds; when it was used last is its time."""
    data = place.read_bytes()
    with contextlib.suppress(OSError):  # a folder that can only be read
        os.utime(place)
    return data


def _keep(place: Path, data: bytes) -> None:
    """Put the file in place whole; where it cannot be kept, it is fetched again the next time."""
    partial = place.with_name(f"{place.name}.{uuid.uuid4().hex}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(place)
    except OSError:
        partial.unlink(missing_ok=True)
