"""The platform's children, kept alive: sandbox host and episode worker. Runs belong to their rounds."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform import host_address
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import ChildFailed
from deskhand_platform.services import HostState
from deskhand_platform.settings import Settings
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host import HostProcess

log = logging.getLogger(__name__)
BACKOFF_S = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Pauses before further starts of a child that keeps dying; the last one from then on."""
STEADY_S = 30.0
"""A child that lived so long counts as having come up."""
HOST_WAIT_S = 120.0


StartHost = Callable[[], AbstractAsyncContextManager[HostProcess]]


class Supervisor:
    """Keeps host and worker alive between entering and leaving its block."""

    def __init__(self, settings: Settings, store: Store, start_host: StartHost) -> None:
        self._settings = settings
        self._store = store
        self._start_host = start_host
        self._up = asyncio.Event()
        self._state: HostState = "down"
        self._address: tuple[str, str] = ("", "")

    @property
    def host_state(self) -> HostState:
        """How the sandbox host is."""
        return self._state

    async def address(self) -> tuple[str, str]:
        """URL and token of the host, waited for while it comes back.

        Raises:
            ChildFailed: it does not come back.
        """
        try:
            async with asyncio.timeout(HOST_WAIT_S):
                await self._up.wait()
        except TimeoutError as error:
            raise ChildFailed(f"the sandbox host did not come up within {HOST_WAIT_S:.0f} s") from error
        return self._address

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Start the children; stop them at the block's end.

        Raises:
            ChildFailed: the sandbox host does not start; says why.
        """
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        host = asyncio.create_task(self._keep("sandbox host", lambda: self._host(first)))
        worker: asyncio.Task[None] | None = None
        try:
            await first
            worker = asyncio.create_task(self._keep("episode worker", self._worker))
            yield
        finally:
            # the worker first: it gives its episodes back while the sandboxes are still there
            for child in (worker, host):
                if child is not None:
                    child.cancel()
                    await asyncio.gather(child, return_exceptions=True)
            host_address.withdraw(self._settings.home)

    async def _keep(self, name: str, live: Callable[[], Awaitable[str]]) -> None:
        """Live one life after the other."""
        deaths = 0
        while True:
            began = time.monotonic()
            try:
                reason = await live()
            except (SandboxError, OSError) as error:
                reason = str(error)
            except Exception as error:  # a bug, and its next life may be without it
                log.exception("the %s ended", name)
                reason = f"{type(error).__name__}: {error}"
            deaths = 1 if time.monotonic() - began > STEADY_S else deaths + 1
            log.warning("the %s ended (%s); it is started again", name, reason)
            event = Event(
                id=0,
                at_s=time.time(),
                subject="platform",
                kind=EventKind.ALARM,
                name="child_died",
                data={"child": name, "reason": reason},
            )
            async with log_and_continue("no alarm tells of it", FlywheelError):
                await self._store.append_event(event)
            await asyncio.sleep(BACKOFF_S[min(deaths, len(BACKOFF_S)) - 1])

    async def _host(self, first: asyncio.Future[None]) -> str:
        """One life of the sandbox host."""
        self._state = "starting"
        try:
            async with self._start_host() as host:
                self._address = (host.url, host.token)
                host_address.publish(self._settings.home, host.url, host.token)
                self._state = "up"
                self._up.set()
                if not first.done():
                    first.set_result(None)
                await dead(host.pid)
                self._up.clear()
                self._state = "down"
        except Exception as error:
            if not first.done():
                first.set_exception(ChildFailed(f"the sandbox host does not start: {error}"))
            raise
        finally:
            self._up.clear()
            self._state = "down"
            host_address.withdraw(self._settings.home)
        return "its process died"

    async def _worker(self) -> str:
        """One life of the episode worker."""
        with (self._settings.home / "worker.log").open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "deskhand_platform.worker",
                str(os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "DESKHAND_HOME": str(self._settings.home)},
                start_new_session=True,
            )
        try:
            status = await process.wait()
        finally:
            await stop(process, grace_s=10.0)
        return f"exit status {status}, see {self._settings.home / 'worker.log'}"


async def stop(process: asyncio.subprocess.Process, *, grace_s: float) -> None:
    """SIGTERM, and SIGKILL after `grace_s`."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            await process.wait()
            return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def dead(pid: int) -> None:
    """Wait until the process has ended, whoever reaps it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
