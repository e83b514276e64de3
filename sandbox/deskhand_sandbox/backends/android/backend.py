"""The Android backend: one adb server of our own, and what makes the devices behind its sandboxes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb
from deskhand_sandbox.backends.android.emulator import Emulated, Sdk
from deskhand_sandbox.backends.android.machines import Attached, Machine
from deskhand_sandbox.backends.android.sandbox import AndroidSandbox
from deskhand_sandbox.backends.android.settings import AndroidSettings
from deskhand_sandbox.base import Backend
from deskhand_sandbox.errors import InfrastructureError

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulated import Simulators


class AndroidBackend(Backend):
    """See `Backend`. Starts what is shared with the first sandbox, and anew when that has died."""

    kind = "android"

    def __init__(self, settings: AndroidSettings) -> None:
        self._settings = settings
        self._adb = find_adb(settings.adb)
        self._free = set(settings.serials)
        self._server: AdbServer | None = None
        self._starting = asyncio.Lock()
        self._sdk: Sdk | None = None
        self.simulators: Simulators | None = None
        """None where devices are real or emulated."""
        if settings.machine == "emulator":
            self._sdk = Sdk.find()
        elif settings.machine == "simulator":
            # real devices need no browser
            from deskhand_sandbox.backends.android.simulated import Simulators

            self.simulators = Simulators(settings)

    async def create(self) -> AndroidSandbox:
        server = await self.server()
        sandbox = AndroidSandbox(self._settings, server, await self._machine(server))
        try:
            await sandbox.device.check_protocol()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    async def server(self) -> AdbServer:
        """The adb server, started if need be."""
        async with self._starting:
            if self._server is not None and not self._server.alive():
                dead, self._server = self._server, None
                await dead.close()
            if self._server is None:
                if self._settings.adb_server is not None:
                    self._server = AdbServer.running(self._settings.adb_server)
                else:
                    usb = any(":" not in serial for serial in self._settings.serials)
                    self._server = await AdbServer.start(self._adb, usb=usb)
            return self._server

    async def close(self) -> None:
        async with self._starting:
            server, self._server = self._server, None
            try:
                if self.simulators is not None:
                    await self.simulators.close()
            finally:
                if server is not None:
                    await server.close()

    async def _machine(self, server: AdbServer) -> Machine:
        if self.simulators is not None:
            return await self.simulators.start(server)
        if self._sdk is not None:
            return await Emulated.start(self._sdk, self._settings.emulator, server)
        if not self._free:
            raise InfrastructureError(f"all {len(self._settings.serials)} attached devices are in use")
        machine = Attached(self._free.pop(), self._free)
        try:
            if ":" in machine.serial:
                await server.connect(machine.serial)
        except BaseException:
            await machine.close()
            raise
        return machine
