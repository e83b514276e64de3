"""What runs in sandboxes now, for people who look on: asked of the sandbox host, whose token stays here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

from deskhand_platform.errors import NotFound, ScreenUnavailable, WrongState
from deskhand_platform.host_address import HostClient
from deskhand_sandbox.errors import HostUnreachable, LeaseExpired, SandboxError
from deskhand_sandbox.host import SandboxClient, Screen
from deskhand_sandbox.manager.records import LeaseStatus
from deskhand_sandbox.pictures import as_jpeg
from deskhand_sandbox.vnc import VncAddress

BOUNDARY = "frame"
FRAME_S = 0.15
"""Between two questions for a new picture."""
AWAY_S = 1.0
"""The same, after one that could not be answered."""
QUIET_S = 5.0
"""After so long without a new one the last is sent again: whoever left is noticed."""
ASK_AGAIN_S = 5.0
"""So long somebody who may not look on any more goes on seeing."""


class LiveSandboxes:
    """Leases of this home's sandbox host."""

    def __init__(self, home: Path) -> None:
        self._host = HostClient(home)

    async def leases(self) -> tuple[LeaseStatus, ...]:
        """What is lent now; nothing where no sandbox host is up."""
        try:
            return (await self.host().status()).leases
        except HostUnreachable:
            return ()

    async def lease(self, lease_id: str) -> LeaseStatus | None:
        """One of them; None where it is over.

        Raises:
            HostUnreachable: no sandbox host answers, and nobody knows.
        """
        return next((each for each in (await self.host().status()).leases if each.id == lease_id), None)

    async def screen(self, lease_id: str, *, known: str | None = None) -> Screen | None:
        """The picture, as JPEG; see `SandboxClient.screen`."""
        found = await self.host().screen(lease_id, known=known)
        if found is None or found.data is None:
            return found
        return Screen(digest=found.digest, data=await asyncio.to_thread(as_jpeg, found.data))

    async def vnc(self, lease_id: str) -> VncAddress:
        """Where its screen is served by VNC, on this machine.

        Raises:
            NotFound: the lease is over.
            HostUnreachable: no sandbox host answers.
            WrongState: its kind serves no VNC, or there is nothing to be seen yet.
            ScreenUnavailable: what serves it is not installed, or the computer failed.
        """
        lease = await self.lease(lease_id)
        if lease is None:
            raise NotFound("lease", lease_id)
        if not lease.vnc:
            raise WrongState(f"a {lease.kind} sandbox serves no VNC; its pictures are at screen.mjpeg")
        try:
            address = await self.host().vnc(lease_id)
        except LeaseExpired as error:
            raise NotFound("lease", lease_id) from error
        except SandboxError as error:
            raise ScreenUnavailable(str(error)) from error
        if address is None:
            raise WrongState("it has not been set up for a task yet; try again in a moment")
        return address

    async def frames(
        self, lease_id: str, stopping: asyncio.Event, still_in: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[bytes]:
        """The picture whenever it changes, as parts of a multipart stream, until the lease ends.

        A host or a computer that does not answer for a while ends nothing: who looks on cannot tell that from
        a screen that stands still. A browser shows a part once it has seen the one after it: each new one is
        sent twice.

        Args:
            still_in: whether who watches may still look on; asked every few seconds.
        """
        known: str | None = None
        part, quiet_s, asked_s = b"", 0.0, time.monotonic()
        while not stopping.is_set():
            if time.monotonic() - asked_s > ASK_AGAIN_S:
                asked_s = time.monotonic()
                if not await still_in():
                    return
            pause_s = FRAME_S
            try:
                found = await self.screen(lease_id, known=known)
            except LeaseExpired:
                return
            except SandboxError:
                found, pause_s = None, AWAY_S
            if found is not None and found.data is not None:
                known, quiet_s = found.digest, 0.0
                part = _part(found.data)
                yield part + part
            elif part and quiet_s >= QUIET_S:
                quiet_s = 0.0
                yield part
            await asyncio.sleep(pause_s)
            quiet_s += pause_s

    async def close(self) -> None:
        """Let go of the connection."""
        await self._host.close()

    def host(self) -> SandboxClient:
        """The host that is up.

        Raises:
            HostUnreachable: none is.
        """
        client = self._host.get()
        if client is None:
            raise HostUnreachable("no sandbox host is up; the platform starts one")
        return client


def _part(data: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data + b"\r\n"
