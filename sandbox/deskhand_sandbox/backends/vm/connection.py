"""libvirt: inside this process without a daemon, or one that runs elsewhere.

libvirt's calls block, so they run in threads; it allows one embedded driver for each process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import libvirt
import libvirt_qemu

from deskhand_sandbox.backends.vm import places
from deskhand_sandbox.backends.vm.image.recipe import cache_folder
from deskhand_sandbox.backends.vm.network import GuestNetwork
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxDied
from deskhand_sandbox.manager import processes

log = logging.getLogger(__name__)
T = TypeVar("T")

CALLS = 32
"""As many may be under way at once."""
OPEN_S = 30.0
KILL_S = 5.0
_GONE = (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_OPERATION_INVALID)
_CONFIGURATION = """user = "+{user}"
group = "+{group}"
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
dynamic_ownership = 0
remember_owner = 0
"""
"""qemu.conf of the embedded driver: guests run as this user, and nothing beside the driver is asked."""

Ended = Callable[[str], None]
"""Told the reason once a domain has ended."""


class Connection:
    """Made by `Connection.open`; shared by all VMs of a backend."""

    def __init__(self, link: Any, folder: Path, *, embedded: bool, network: GuestNetwork | None) -> None:
        self.folder = folder
        """Of this process: files of running VMs lie below it."""
        self.network = network
        """Where guests are apart from this machine's loopback; None: nowhere."""
        self.embedded = embedded
        self._link = link
        self._threads = ThreadPoolExecutor(CALLS, thread_name_prefix="libvirt")
        self._ended: dict[str, Ended] = {}
        self._noting: set[Future[None]] = set()
        self._callback = link.domainEventRegisterAny(
            None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._lifecycle, None
        )

    @classmethod
    async def open(cls, address: str, base: Path) -> Connection:
        """Connect, after removing what processes that are gone have left.

        Args:
            address: "embed", or a libvirt address.
            base: where the folder of this process is made.

        Raises:
            BackendMissing: libvirt's driver for QEMU is not installed, or nothing answers at the address.
            InfrastructureError: the folder cannot be made.
        """
        await asyncio.to_thread(places.remove_orphans, base)
        try:
            async with asyncio.timeout(OPEN_S):
                return await asyncio.to_thread(cls._open, address, base)
        except TimeoutError as error:
            raise BackendMissing(f"libvirt did not answer at {address} in {OPEN_S:g} s") from error
        except libvirt.libvirtError as error:
            raise BackendMissing(
                f"libvirt cannot be used at {address}: {error}; run `make setup`, or on Debian "
                "apt-get install libvirt-daemon libvirt-daemon-driver-qemu"
            ) from error

    @classmethod
    def _open(cls, address: str, base: Path) -> Connection:
        _start_events()
        if address != "embed":
            connection = cls(libvirt.open(address), _folder(base), embedded=False, network=None)
            connection._end_orphans()
            return connection
        return _embedded(base)

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Carry out a call of libvirt.

        Raises:
            SandboxDied: the domain is gone.
            InfrastructureError: it failed; says what libvirt said.
        """
        return await self._result(self._threads.submit(function, *arguments))

    async def start(self, name: str, xml: str, ended: Ended) -> Any:
        """Start a domain that stands still, and dies with this connection.

        Raises:
            InfrastructureError: it could not be started; says why.
        """
        self._ended[name] = ended
        flags = libvirt.VIR_DOMAIN_START_PAUSED
        if not self.embedded:  # a daemon ends what its client leaves; the embedded driver cannot
            flags |= libvirt.VIR_DOMAIN_START_AUTODESTROY
        creating = self._threads.submit(self._link.createXML, xml, flags)
        try:
            return await self._result(creating)
        except BaseException:
            self._ended.pop(name, None)
            creating.add_done_callback(_end_unwanted)  # whoever asked for it has gone: libvirt goes on
            raise

    async def _result(self, call: Future[T]) -> T:
        try:
            return await asyncio.wrap_future(call)
        except libvirt.libvirtError as error:
            kind = SandboxDied if error.get_error_code() in _GONE else InfrastructureError
            raise kind(f"libvirt: {error}") from error

    async def end(self, domain: Any) -> None:
        """End a domain at once; one that has ended already is fine.

        In the embedded driver the process is gone when this returns; libvirt writes that down a moment later,
        once whoever adopts orphaned processes has taken note of its end.
        """
        name = domain.name()
        self._ended.pop(name, None)
        pid_file = self.folder / "run/qemu" / f"{name}.pid"
        gone = self.embedded and await asyncio.to_thread(_kill, pid_file, name)
        noting = self._threads.submit(_destroy, domain)
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)
        if not gone:
            await asyncio.wrap_future(noting)

    async def settle(self) -> None:
        """Wait until libvirt has noted the end of every domain that was ended."""
        await asyncio.gather(*map(asyncio.wrap_future, tuple(self._noting)))

    async def command(self, domain: Any, command: str, *, human: bool = False) -> str:
        """Say something to QEMU's monitor; its answer.

        Args:
            human: the words a person would say, instead of JSON.

        Raises:
            SandboxDied: the domain is gone.
            InfrastructureError: libvirt refuses it.
        """
        flag = libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP if human else 0
        try:
            return await self.call(libvirt_qemu.qemuMonitorCommand, domain, command, flag)
        except SandboxDied:
            raise
        except InfrastructureError as error:
            if "monitor" in str(error):  # it broke off: so QEMU says nothing more
                raise SandboxDied(str(error)) from error
            raise

    def alive(self) -> bool:
        """False once a daemon elsewhere is known to be gone."""
        try:
            return bool(self._link.isAlive())
        except libvirt.libvirtError:
            return False

    def close(self) -> None:
        """Let go; every domain started here ends."""
        if self.embedded:  # libvirt keeps its one driver for as long as this process lives
            return
        with contextlib.suppress(libvirt.libvirtError):
            self._link.domainEventDeregisterAny(self._callback)
            self._link.close()
        self._threads.shutdown(wait=False)

    def _lifecycle(self, _link: Any, domain: Any, event: int, detail: int, _opaque: object) -> None:
        if event == libvirt.VIR_DOMAIN_EVENT_STOPPED:
            ended = self._ended.pop(domain.name(), None)
            if ended is not None:
                ended(_REASONS.get(detail, "for a reason libvirt did not tell"))

    def _end_orphans(self) -> None:
        for domain in self._link.listAllDomains():
            if places.is_orphan(domain.name()):
                with contextlib.suppress(libvirt.libvirtError):
                    domain.destroy()


_REASONS = {
    libvirt.VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN: "it was shut down from inside",
    libvirt.VIR_DOMAIN_EVENT_STOPPED_DESTROYED: "it was ended from outside",
    libvirt.VIR_DOMAIN_EVENT_STOPPED_CRASHED: "it crashed",
    libvirt.VIR_DOMAIN_EVENT_STOPPED_FAILED: "QEMU failed",
}

_starting = threading.Lock()
_events: threading.Thread | None = None
_driver: Connection | None = None
"""The one embedded driver of this process."""
_folders: set[Path] = set()


def _kill(pid_file: Path, name: str) -> bool:
    """End a QEMU without asking it; whether it is gone."""
    try:
        process = processes.find(int(pid_file.read_text()))
    except (OSError, ValueError):
        return False
    if process is None or name not in process.command:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_S
    while (there := processes.is_running(process)) and time.monotonic() < deadline:
        time.sleep(0.002)
    return not there


def _end_unwanted(creating: Future[Any]) -> None:
    if not creating.cancelled() and creating.exception() is None:
        _destroy(creating.result())


def _destroy(domain: Any) -> None:
    try:
        domain.destroy()
    except libvirt.libvirtError as error:
        if error.get_error_code() not in _GONE:
            raise


def _start_events() -> None:
    """libvirt's event loop, in a thread that ends with this process."""
    global _events
    with _starting:
        if _events is None:
            libvirt.registerErrorHandler(lambda _context, _error: None, None)  # what is raised is enough
            libvirt.virEventRegisterDefaultImpl()
            _events = threading.Thread(target=_run_events, name="libvirt events", daemon=True)
            _events.start()


def _run_events() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()


def _folder(base: Path) -> Path:
    """The folder of this process, which goes when it ends."""
    folder = places.own_folder(base)
    if folder not in _folders:
        _folders.add(folder)
        atexit.register(_remove_folder, folder, os.getpid())
    return folder


def _remove_folder(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a child that was forked and ends before it
        places.remove(folder)


def _network(folder: Path) -> GuestNetwork | None:
    try:
        return GuestNetwork.open(folder, cache_folder())
    except BackendMissing as error:
        log.warning("%s; tasks with a network are refused", error)
        return None


def _embedded(base: Path) -> Connection:
    """The driver inside this process; what it finds out about QEMU is kept for the next process.

    Where there is one already, it stays where it is, whatever the base.
    """
    global _driver
    with _starting:
        if _driver is None:
            folder = _folder(base)
            settings = folder / "etc/qemu.conf"
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.parent.chmod(0o700)
            (folder / "etc/qemu").mkdir(exist_ok=True)
            text = _CONFIGURATION.format(user=os.geteuid(), group=os.getegid())
            for place in (settings, folder / "etc/qemu/qemu.conf"):
                place.write_text(text)
            known = cache_folder() / "libvirt"
            known.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                (folder / "cache").symlink_to(known)
            link = libvirt.open(f"qemu:///embed?root={folder}")
            _driver = Connection(link, folder, embedded=True, network=_network(folder))
        return _driver
