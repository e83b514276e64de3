"""A simulator as what stands behind a sandbox."""

from __future__ import annotations

import asyncio

from deskhand_sandbox.backends.android.adb.server import AdbServer
from deskhand_sandbox.backends.android.machines import Machine
from deskhand_sandbox.backends.android.settings import AndroidSettings
from deskhand_sandbox.backends.android.simulator import Simulator
from deskhand_sandbox.backends.browser.chromium import Chromium, find_chromium, start_chromium
from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.isolation import Confinement


class Simulators:
    """Makes simulators that draw with one Chromium, started with the first of them."""

    def __init__(self, settings: AndroidSettings) -> None:
        """
        Raises:
            BackendMissing: Chromium or bubblewrap is not installed.
        """
        self._settings = settings
        self._executable = find_chromium(settings.chromium)
        if not Confinement.available():
            raise BackendMissing("a simulated device's shell needs bubblewrap: run `make setup`")
        self._chromium: Chromium | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the browser; None before the first simulator."""
        return self._chromium.pid if self._chromium else None

    async def start(self, server: AdbServer) -> Simulated:
        """One more simulator.

        Raises:
            InfrastructureError: it could not be made.
        """
        size, keyboard = self._settings.size_px, self._settings.unicode_keyboard
        return await Simulated.start(await self._browser(), server, size, unicode_keyboard=keyboard)

    async def close(self) -> None:
        """End the browser, and with it every simulator's screen."""
        async with self._starting:
            chromium, self._chromium = self._chromium, None
            if chromium is not None:
                await chromium.close()

    async def _browser(self) -> Chromium:
        async with self._starting:
            if self._chromium is not None and self._chromium.control.closed.is_set():
                dead, self._chromium = self._chromium, None
                await dead.close()
            if self._chromium is None:
                deadline_s = self._settings.reset_deadline_s
                self._chromium = await start_chromium(self._executable, (), deadline_s)
            return self._chromium


class Simulated(Machine):
    """Made by `Simulated.start`."""

    snapshots = True
    copies = True

    def __init__(self, simulator: Simulator, server: AdbServer) -> None:
        self.simulator = simulator
        self._server = server
        self.serial = f"127.0.0.1:{simulator.port}"

    @classmethod
    async def start(
        cls, chromium: Chromium, server: AdbServer, size_px: tuple[int, int], *, unicode_keyboard: bool
    ) -> Simulated:
        """A simulator that lets in this adb server and no other.

        Raises:
            InfrastructureError: it could not be made, or adb does not take it up.
        """
        simulator = await Simulator.start(
            chromium, size_px=size_px, key=server.public_key, unicode_keyboard=unicode_keyboard
        )
        try:
            await server.connect(f"127.0.0.1:{simulator.port}")
        except BaseException:
            await simulator.close()
            raise
        return cls(simulator, server)

    async def begin(self) -> None:
        await self.simulator.reset()

    async def save(self) -> str:
        return await self.simulator.save()

    async def load(self, name: str) -> None:
        await self.simulator.load(name)

    async def forget(self, name: str) -> None:
        await self.simulator.drop(name)

    async def copy(self) -> Simulated:
        own = self.simulator
        name = await own.save()
        try:
            another = await Simulated.start(
                own.chromium, self._server, own.natural_px, unicode_keyboard=own.unicode_keyboard
            )
            try:
                await another.simulator.take_after(own, name)
            except BaseException:
                await another.close()
                raise
        finally:
            await own.drop(name)
        return another

    def alive(self) -> bool:
        return self.simulator.alive()

    async def died(self) -> bool:
        return await self.simulator.died()

    async def close(self) -> None:
        if self.simulator.port:
            await self._server.disconnect(self.serial)
            self.simulator.port = 0
        await self.simulator.close()
