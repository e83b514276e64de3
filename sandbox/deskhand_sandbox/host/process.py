"""A sandbox host as a child of this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any

from deskhand_sandbox.errors import HostUnreachable
from deskhand_sandbox.host.settings import HostSettings, to_json
from deskhand_sandbox.manager.journal import end_left

OWN_MODULE = (sys.executable, "-m", "deskhand_sandbox.host")
START_S = 60.0
"""Deadline for a host to say that it is ready: it ends a killed host's orphans first."""
STOP_S = 30.0
"""After SIGTERM and the time for draining; then the host is killed and its journal cleaned up here."""


class HostProcess:
    """A sandbox host that lives no longer than this process: `async with start_host(…) as host`."""

    def __init__(self, settings: HostSettings, command: Sequence[str]) -> None:
        self.settings = settings
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._ready: dict[str, Any] | None = None

    @property
    def url(self) -> str:
        """Address for `SandboxClient`."""
        return str(self._said("url"))

    @property
    def token(self) -> str:
        """The host token. Secret."""
        return str(self._said("token"))

    @property
    def pid(self) -> int:
        """The host's process."""
        return int(self._said("pid"))

    @property
    def returncode(self) -> int | None:
        """None while the host runs, or before it was started."""
        return self._child.poll() if self._child is not None else None

    async def __aenter__(self) -> HostProcess:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, HostProcess]:
        return self.__aenter__().__await__()

    async def start(self) -> None:
        """Start the host and wait until it listens.

        Raises:
            HostUnreachable: it ended or said nothing before the deadline; the message has its last words.
        """
        if self._child is not None:
            raise RuntimeError("this host has been started before")
        self.settings.state_folder.mkdir(parents=True, exist_ok=True)
        self.settings.log_path.parent.mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        try:
            self._child = self._spawn(writing)
        finally:
            os.close(writing)
        try:
            async with asyncio.timeout(START_S):
                self._ready = json.loads(await read_line(reading))
        except (TimeoutError, ValueError) as error:
            await self.close()
            raise HostUnreachable(f"the sandbox host did not start: {self._last_words()}") from error
        except BaseException:
            await self.close()
            raise
        finally:
            os.close(reading)

    async def close(self) -> None:
        """Stop the host with all its sandboxes, and what it might have left. Safe to call twice."""
        child = self._child
        if child is None:
            return
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            if not await ended(child, self.settings.drain_s + STOP_S):
                child.kill()
                await ended(child, STOP_S)
        if child.stdin is not None:
            child.stdin.close()
        child.wait()
        kinds = [(pool.kind or name, pool.settings) for name, pool in self.settings.kinds.items()]
        await asyncio.to_thread(end_left, self.settings.state_folder, kinds)

    def _spawn(self, ready_fd: int) -> subprocess.Popen[bytes]:
        command = [*self._command, "--ready-fd", str(ready_fd), "--parent", str(os.getpid())]
        with self.settings.log_path.open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(ready_fd,),
                start_new_session=True,  # Ctrl-C reaches us alone, and we stop the host in order
            )
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once: the ready pipe says so in a moment
            child.stdin.write(to_json(self.settings).encode() + b"\n")
            child.stdin.flush()
        return child

    def _said(self, name: str) -> Any:
        if self._ready is None:
            raise RuntimeError("the sandbox host has not been started: use `async with start_host(...)`")
        return self._ready[name]

    def _last_words(self) -> str:
        lines = self.settings.log_path.read_text(errors="replace").strip().splitlines()
        code = self.returncode
        ending = f"it ended with code {code}" if code is not None else f"it said nothing for {START_S:g} s"
        return f"{ending}; last line of {self.settings.log_path}: {lines[-1] if lines else 'empty'}"


def start_host(settings: HostSettings, *, command: Sequence[str] = OWN_MODULE) -> HostProcess:
    """A sandbox host as a child process: `async with start_host(settings) as host`, or `await` and close it.

    Args:
        command: a program that calls `deskhand_sandbox.host.__main__.main`, for backends of your own.
    """
    return HostProcess(settings, command)


async def read_line(descriptor: int) -> bytes:
    """One line from a pipe, or what came before its end."""
    loop = asyncio.get_running_loop()
    text = b""
    while not text.endswith(b"\n"):
        readable = loop.create_future()
        loop.add_reader(descriptor, _resolve, readable)
        try:
            await readable
        finally:
            loop.remove_reader(descriptor)
        part = os.read(descriptor, 4096)
        if not part:
            break
        text += part
    return text


async def ended(child: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for a child's end; False at the deadline."""
    try:
        await asyncio.to_thread(child.wait, timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
