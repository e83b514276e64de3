"""VNC on a desktop: for each viewer an x11vnc inside, which is handed the viewer's connection.

Nothing listens inside, and nothing of the desktop is reached from outside but by this.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from contextlib import suppress

from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.vnc import VncAddress, new_password

HOST = "127.0.0.1"
VIEWERS = 4
"""Most at once: each takes a process inside."""
PROGRAM = (
    *("x11vnc", "-inetd", "-q", "-norc", "-nolookup", "-nocmds", "-noremote", "-repeat", "-nobell"),
    *("-nonap", "-speeds", "lan"),
)
"""It reads no files of the agent's, runs nothing, and leaves the keyboard's repeat as it is.

It neither naps nor measures the connection: whoever only looks on would see what happens seconds late.
"""


class VncServer:
    """Made by `VncServer.open`. Serves until it is closed."""

    def __init__(self, inside: Confinement, listener: socket.socket) -> None:
        self._inside = inside
        self._listener = listener
        self.address = VncAddress(host=HOST, port=listener.getsockname()[1], password=new_password())
        self._viewers: set[asyncio.Task[None]] = set()
        self._serving = asyncio.create_task(self._serve(), name="serve VNC")

    @classmethod
    def open(cls, inside: Confinement) -> VncServer:
        """Serve the screen that `inside.variables` names.

        Raises:
            BackendMissing: x11vnc is not installed.
            InfrastructureError: this machine gives no port.
        """
        if shutil.which(PROGRAM[0]) is None:
            raise BackendMissing("VNC on a desktop needs x11vnc: run `make setup`, or apt-get install x11vnc")
        try:
            listener = socket.create_server((HOST, 0))
        except OSError as error:
            raise InfrastructureError(f"no port for VNC: {error.strerror}") from error
        listener.setblocking(False)
        return cls(inside, listener)

    async def close(self) -> None:
        """End all connections and give the port back; safe to call twice."""
        self._serving.cancel()
        await asyncio.wait([self._serving])
        self._listener.close()
        viewers = list(self._viewers)
        for viewer in viewers:
            viewer.cancel()
        if viewers:
            await asyncio.wait(viewers)

    async def _serve(self) -> None:
        while True:
            connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            if len(self._viewers) >= VIEWERS:
                connection.close()
                continue
            viewer = asyncio.create_task(self._show(connection), name="show a desktop by VNC")
            self._viewers.add(viewer)
            viewer.add_done_callback(self._viewers.discard)

    async def _show(self, connection: socket.socket) -> None:
        """Let a viewer in until it leaves; a desktop that is gone shows nothing."""
        with connection, suppress(InfrastructureError):
            connection.setblocking(True)
            process = await self._start(connection)
            connection.close()
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()

    async def _start(self, connection: socket.socket) -> asyncio.subprocess.Process:
        inside, none = self._inside, asyncio.subprocess.DEVNULL
        reads, writes = os.pipe()
        try:
            os.write(writes, f"{self.address.password}\n".encode())
            os.close(writes)
            command = inside.command(*PROGRAM, "-passwdfile", f"/dev/fd/{reads}")
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                stderr=none,
                env=inside.environment,
                pass_fds=(reads,),
                start_new_session=True,
            )
        finally:
            os.close(reads)
