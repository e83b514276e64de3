"""The VM backend: one saved state, and as many clones of it as are asked for."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deskhand_sandbox.backends.vm import places
from deskhand_sandbox.backends.vm.accelerators import choose
from deskhand_sandbox.backends.vm.booting import booted
from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.connection import Connection
from deskhand_sandbox.backends.vm.domain import Hardware
from deskhand_sandbox.backends.vm.image import find
from deskhand_sandbox.backends.vm.image.recipe import GoldenImage, disk_key
from deskhand_sandbox.backends.vm.machine import Machine
from deskhand_sandbox.backends.vm.sandbox import VmSandbox
from deskhand_sandbox.backends.vm.settings import VmSettings
from deskhand_sandbox.backends.vm.states import READY, State, Tell, ready_state
from deskhand_sandbox.base import Backend
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxTimeout


class VmBackend(Backend):
    """See `Backend`. The first VM of an image, or on other hardware, is booted and saved: this takes long."""

    kind = "vm"

    def __init__(self, settings: VmSettings, *, tell: Tell | None = None) -> None:
        """
        Args:
            tell: told what is being done, where it takes a while.
        """
        self._settings = settings
        self._tell = tell
        self._starting = asyncio.Lock()
        self._shared: _Shared | None = None
        self._made: set[VmSandbox] = set()
        self._closed = False

    async def create(self) -> VmSandbox:
        if self._closed:
            raise InfrastructureError("the VM backend is closed")
        shared = await self._share()
        try:
            async with asyncio.timeout(self._settings.reset_deadline_s):
                sandbox = await self._clone(shared)
        except TimeoutError as error:
            limit = self._settings.reset_deadline_s
            raise SandboxTimeout(f"a clone of the VM was not up in {limit:g} s") from error
        self._made = {each for each in self._made if each.alive()} | {sandbox}
        return sandbox

    async def cold_boot(self) -> float:
        """Boot the image as the first VM of it does, beside the others; the machine is ended again.

        Returns:
            Seconds from power on until its agent answers, or its screen stands still where it has none.

        Raises:
            SandboxTimeout: it did not come up.
            InfrastructureError: it failed.
        """
        shared, settings = await self._share(), self._settings
        with tempfile.TemporaryDirectory(dir=shared.connection.folder) as draft:
            async with booted(
                shared.connection,
                shared.image,
                shared.hardware,
                Path(draft),
                deadline_s=settings.boot_deadline_s,
                still_s=settings.boot_still_s,
            ) as up:
                return up.boot_s

    def alive(self) -> bool:
        """False, too, once the image is another: what was saved stands on the one before."""
        shared = self._shared
        return not self._closed and (shared is None or (shared.connection.alive() and shared.stands()))

    async def close(self) -> None:
        self._closed = True
        made, self._made = self._made, set[VmSandbox]()
        for each in made:
            await each.close()
        if self._shared is not None:
            await self._shared.connection.settle()
            self._shared.connection.close()

    async def _share(self) -> _Shared:
        """What all VMs of the backend have in common, made once."""
        async with self._starting:
            if self._shared is None:
                settings = self._settings
                image = await asyncio.to_thread(self._image)
                accelerator = await choose(settings.accelerator, await asyncio.to_thread(find))
                base = places.base_folder(Path(settings.folder) if settings.folder is not None else None)
                connection = await Connection.open(settings.connection, base)
                hardware = Hardware(
                    accelerator=accelerator,
                    memory_mb=settings.memory_mb,
                    cpus=settings.cpus,
                    size_px=settings.size_px,
                    translation_cache_mb=settings.translation_cache_mb,
                    kernel=image.kernel,
                    initrd=image.initrd,
                )
                state = await ready_state(
                    connection,
                    image,
                    hardware,
                    deadline_s=settings.boot_deadline_s,
                    still_s=settings.boot_still_s,
                    tell=self._tell,
                )
                self._shared = _Shared(
                    connection=connection,
                    image=image,
                    hardware=hardware,
                    state=state,
                    host_loopback=settings.host_loopback,
                )
            return self._shared

    def _image(self) -> GoldenImage:
        given = self._settings.image
        if given is None:
            image = find()
            if image is None:
                raise BackendMissing("there is no golden image yet: run `deskhand sandbox build vm`")
            return image
        disk = Path(given).resolve()
        return GoldenImage(disk=disk, kernel=None, initrd=None, key=disk_key(disk), agent=False)

    async def _clone(self, shared: _Shared) -> VmSandbox:
        machine = await shared.copy(shared.state.disk)
        channel = None
        try:
            if shared.image.agent:
                channel = await Channel.connect(machine.channel)
            await machine.load(READY)
            await machine.resume()
            if channel is not None:
                await channel.ready(self._settings.reset_deadline_s)
                await channel.claim(machine_id=secrets.token_hex(16))
        except BaseException:
            if channel is not None:
                await channel.close()
            await machine.close()
            raise

        async def copy(source: Machine) -> Machine:
            return await shared.copy(source.disk)

        return VmSandbox(self._settings, machine, channel, size_px=shared.state.size_px, copy=copy)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shared:
    """What all VMs of a backend have in common."""

    connection: Connection
    image: GoldenImage
    hardware: Hardware
    state: State
    host_loopback: bool

    def stands(self) -> bool:
        """Whether the image is the one that the state was saved on top of."""
        try:
            return disk_key(self.image.disk) == self.image.key
        except OSError:
            return False

    async def copy(self, disk: Path) -> Machine:
        """A machine on a copy of a disk, before its first instruction."""
        if not self.stands():
            raise InfrastructureError(
                f"{self.image.disk} was replaced or changed since these VMs were started: start them anew"
            )
        return await Machine.start(self.connection, self.hardware, disk, host_loopback=self.host_loopback)
