"""The Android backend: one adb server of our own, and what makes the devices behind its sandboxes."""

from __future__ import annotations

import asyncio
from collections import deque
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
        self._serials = deque(settings.serials)
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
        if self.simulators is not None:
            return await self._made(server, await self.simulators.start(server))
        if self._sdk is not None:
            return await self._made(server, await Emulated.start(self._sdk, self._settings.emulator, server))
        return await self._attached(server)

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

    async def _attached(self, server: AdbServer) -> AndroidSandbox:
        """A sandbox on the next of the devices that is free and answers."""
        failed: InfrastructureError | None = None
        for _ in range(len(self._serials)):
            serial = self._serials[0]
            self._serials.rotate(-1)
            try:
                machine = Attached(serial)
            except InfrastructureError:
                continue
            try:
                if ":" in serial:
                    await server.connect(serial)
                return await self._made(server, machine)
            except InfrastructureError as error:
                failed = error
                await machine.close()
            except BaseException:
                await machine.close()
                raise
        raise failed or InfrastructureError(f"all {len(self._serials)} attached devices are in use")

    async def _made(self, server: AdbServer, machine: Machine) -> AndroidSandbox:
        sandbox = AndroidSandbox(self._settings, server, machine)
        try:
            await sandbox.device.check_protocol()
        except BaseException:
            await sandbox.close()
            raise
        return sandbox
