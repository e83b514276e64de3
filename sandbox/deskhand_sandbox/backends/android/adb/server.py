"""An adb server of our own: own port, own home, own keys; nobody else's is asked, started or ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
from pathlib import Path

from deskhand_sandbox.backends.android.adb.client import AdbClient
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation import Confinement

START_S = 20.0
CONNECT_S = 20.0
END_S = 5.0
MEND = "run `make setup`, or `apt-get install adb`, or name one with DESKHAND_ADB"
NO_SCAN = {"ADB_MDNS": "0", "ADB_LOCAL_TRANSPORT_MAX_PORT": "5553"}
"""The server looks for no device by itself: not in the network, not among this machine's emulators."""


def find_adb(executable: str | None = None) -> str:
    """Path of adb: the argument, then DESKHAND_ADB, then PATH, then the SDK.

    Raises:
        BackendMissing: there is none; says how to get one.
    """
    named = executable or os.environ.get("DESKHAND_ADB")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BackendMissing(f"no program at {named!r} (DESKHAND_ADB or `adb`): {MEND}")
        return found
    sdk = os.environ.get("ANDROID_HOME") or os.environ.get("ANDROID_SDK_ROOT")
    found = shutil.which("adb") or (shutil.which(f"{sdk}/platform-tools/adb") if sdk else None)
    if found is None:
        raise BackendMissing(f"no adb on PATH: {MEND}")
    return found


class AdbServer:
    """Made by `AdbServer.start`, or of an address where one runs already (`AdbServer.running`)."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.home: Path | None = None
        self._process: asyncio.subprocess.Process | None = None

    @classmethod
    def running(cls, address: str) -> AdbServer:
        """Somebody else's server, "host:port": it is used, and never ended.

        Raises:
            InfrastructureError: that is no address.
        """
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise InfrastructureError(f"adb_server must be host:port, not {address!r}")
        return cls(host, int(port))

    @classmethod
    async def start(cls, executable: str, *, usb: bool = False) -> AdbServer:
        """Start one; it ends with this process, however that ends.

        Args:
            usb: whether it may take up devices on USB.

        Raises:
            BackendMissing: the program cannot be run.
            InfrastructureError: it did not come up.
        """
        with socket.create_server(("127.0.0.1", 0)) as listening:
            server = cls("127.0.0.1", listening.getsockname()[1])
            server.home = Path(tempfile.mkdtemp(prefix="deskhand-adb-"))
            try:
                await server._start(executable, listening, usb=usb)
                await server._answering()
            except BaseException:
                await server.close()
                raise
        return server

    @property
    def environment(self) -> dict[str, str]:
        """What a program has to see to use this server and no other."""
        own = (
            {}
            if self.home is None
            else {"HOME": str(self.home), "ANDROID_USER_HOME": f"{self.home}/.android"}
        )
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, **NO_SCAN, **own, "ANDROID_ADB_SERVER_PORT": str(self.port)}

    @property
    def public_key(self) -> str | None:
        """What it shows devices that ask who it is; None for somebody else's server."""
        if self.home is None:
            return None
        return (self.home / ".android/adbkey.pub").read_text()

    @property
    def pid(self) -> int | None:
        """Process id of an own server; None once it has been closed, and for somebody else's."""
        return None if self._process is None else self._process.pid

    def alive(self) -> bool:
        """False once it is known to be gone."""
        return self._process is None or self._process.returncode is None

    async def connect(self, address: str, deadline_s: float = CONNECT_S) -> None:
        """Take up a device at "host:port", and wait until it answers.

        Raises:
            SandboxDied: nothing answers there, or the server is gone.
            SandboxTimeout: it did not in time.
        """
        said = ""
        try:
            async with asyncio.timeout(deadline_s), AdbClient(self.host, self.port) as client:
                while True:
                    said = await client.connect(address, deadline_s)
                    if await client.state(address) == "device":
                        return
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise SandboxTimeout(f"{address} did not come up within {deadline_s:g} s: {said}") from error

    async def disconnect(self, address: str) -> None:
        """Let go of a device; one that is gone already is no failure."""
        with contextlib.suppress(InfrastructureError):
            async with AdbClient(self.host, self.port) as client:
                await client.disconnect(address)

    async def close(self) -> None:
        """End the server, if it is our own; safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self.home is not None:
            await asyncio.to_thread(shutil.rmtree, self.home, ignore_errors=True)

    async def _start(self, executable: str, listening: socket.socket, *, usb: bool) -> None:
        none = asyncio.subprocess.DEVNULL
        number = listening.fileno()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *ending_with_us(usb=usb),
                executable,
                "-L",
                f"acceptfd:{number}",
                "server",
                "nodaemon",
                stdin=none,
                stdout=none,
                stderr=none,
                pass_fds=(number,),
                env=self.environment,
            )
        except OSError as error:
            raise BackendMissing(f"{executable} cannot be run ({error.strerror}): {MEND}") from error

    async def _answering(self) -> None:
        assert self._process is not None
        ended = asyncio.ensure_future(self._process.wait())
        try:
            async with asyncio.timeout(START_S), AdbClient(self.host, self.port) as client:
                answered = asyncio.ensure_future(client.version())
                await asyncio.wait({ended, answered}, return_when=asyncio.FIRST_COMPLETED)
                if not answered.done():
                    answered.cancel()
                    raise SandboxDied(f"adb's server ended while it started (status {ended.result()})")
                answered.result()
        except TimeoutError as error:
            raise SandboxTimeout(f"adb's server did not answer within {START_S:g} s") from error
        finally:
            ended.cancel()


def ending_with_us(*, usb: bool) -> list[str]:
    """Words before a program that make it die with this process, and keep USB from it."""
    if not usb and Confinement.available() and Path("/dev/bus/usb").is_dir():
        return ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--tmpfs", "/dev/bus/usb", "--"]
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
