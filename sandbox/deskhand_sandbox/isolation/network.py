"""A way out for the programs of a confinement: slirp4netns, a network stack in a process on this machine.

The programs keep a network of their own, apart from this machine's: of its sockets they see none. What they
send goes out in this machine's name, and nothing comes in that they have not asked for.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress

from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.isolation.bubblewrap import Confinement
from deskhand_sandbox.isolation.limits import END_S
from deskhand_sandbox.isolation.pipes import read_pipe

HOST = "10.0.2.2"
"""What this machine's loopback is called inside, where it may be reached."""
NAME_SERVER = "10.0.2.3"


class WayOut:
    """Made by `WayOut.open`. It ends when it is closed, and with this process."""

    def __init__(self, process: asyncio.subprocess.Process, held: int) -> None:
        self._process = process
        self._held = held
        """A pipe's end: the process ends when nobody has it any more."""
        self._closed = False

    @classmethod
    async def open(cls, inside: Confinement, *, loopback: bool) -> WayOut:
        """Connect a confinement that has a leader.

        Args:
            loopback: whether what this machine serves on its loopback is reached too, at HOST.

        Raises:
            BackendMissing: slirp4netns is not installed.
            SandboxDied: the leader has ended.
            InfrastructureError: it did not come up; says why.
        """
        if shutil.which("slirp4netns") is None:
            raise BackendMissing(
                "a desktop with a network needs slirp4netns: run `make setup`, or apt-get install slirp4netns"
            )
        leader = inside.leader
        words = ["--configure", "--mtu=65520", "--enable-sandbox", "--enable-seccomp"]
        if not loopback:
            words.append("--disable-host-loopback")
        words += [f"--userns-path={inside.owner}", str(leader), "tap0"]
        way_out, ready = await cls._start(inside, words)
        try:
            if not await read_pipe(ready, 1):
                raise InfrastructureError(f"the desktop gets no network: {_complaint(inside)}")
        except BaseException:
            await way_out.close()
            raise
        inside.name_server(NAME_SERVER)
        return way_out

    async def close(self) -> None:
        """Cut the programs off; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        os.close(self._held)
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    @classmethod
    async def _start(cls, inside: Confinement, words: list[str]) -> tuple[WayOut, int]:
        ready, tells = os.pipe()
        watched, held = os.pipe()
        command = ["slirp4netns", f"--ready-fd={tells}", f"--exit-fd={watched}", *words]
        none = asyncio.subprocess.DEVNULL
        try:
            with (inside.folder / "network").open("wb") as said:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=none, stdout=none, stderr=said, pass_fds=(tells, watched)
                )
        except BaseException:
            os.close(ready)
            os.close(held)
            raise
        finally:
            os.close(tells)
            os.close(watched)
        return cls(process, held), ready


def _complaint(inside: Confinement) -> str:
    said = "; ".join((inside.folder / "network").read_text(errors="replace").strip().splitlines())
    return said or "slirp4netns ended without a word"
