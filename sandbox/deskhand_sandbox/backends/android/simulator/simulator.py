"""A simulated Android device: a daemon that adb accepts, a screen, programs, files and rows behind them.

It runs no Android. It speaks adb's protocol and knows the commands that agents and their tools use, so that
what works here works with the same code on a device.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskhand_sandbox.backends.android.simulator import first_state
from deskhand_sandbox.backends.android.simulator.adb_key import AdbKey
from deskhand_sandbox.backends.android.simulator.commands import programs
from deskhand_sandbox.backends.android.simulator.daemon import Connection, Daemon, Service, Stream
from deskhand_sandbox.backends.android.simulator.files import DeviceFiles
from deskhand_sandbox.backends.android.simulator.ports import Ports
from deskhand_sandbox.backends.android.simulator.screen import Screen
from deskhand_sandbox.backends.android.simulator.shell import DeviceShell
from deskhand_sandbox.backends.android.simulator.sync import SyncService
from deskhand_sandbox.backends.android.simulator.tables import QueryError, Tables
from deskhand_sandbox.backends.browser.chromium import Chromium
from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.types import JsonValue

MODEL = "Deskhand Simulator"
PROPERTIES = {
    "ro.product.model": MODEL,
    "ro.product.name": "deskhand_simulator",
    "ro.product.device": "simulator",
    "ro.product.manufacturer": "Deskhand",
    "ro.build.version.release": "14",
    "ro.build.version.sdk": "34",
    "ro.build.characteristics": "simulator",
    "ro.serialno": "SIMULATOR",
    "sys.boot_completed": "1",
    "init.svc.bootanim": "stopped",
    "service.adb.root": "0",
}
BANNER = "device::" + ";".join(
    f"{name}={PROPERTIES[name]}" for name in ("ro.product.name", "ro.product.model", "ro.product.device")
)
LOG_LINES = 2000
LAST_SIGN_S = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    """A snapshot."""

    rows: bytes
    ui: JsonValue
    now_ms: float
    properties: dict[str, str]
    rotation: int
    demo: str | None
    files: Path


class Simulator:
    """Made by `Simulator.start`, and used by adb at 127.0.0.1:`port`."""

    def __init__(self, chromium: Chromium, size_px: tuple[int, int], folder: Path, *, keyboard: bool) -> None:
        self.chromium = chromium
        self.natural_px = size_px
        """Width and height of the screen when it is not turned."""
        self.unicode_keyboard = keyboard
        """Whether ADBKeyboard is installed."""
        self._folder = folder
        self._kept: dict[str, _Kept] = {}
        self._screen: Screen | None = None
        self._daemon: Daemon | None = None
        self.port = 0
        self.tables = Tables()
        self.files = DeviceFiles(folder / "device")
        self.ports = Ports()
        self.properties = dict(PROPERTIES)
        self.log: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self.logged = asyncio.Event()
        """Set, and replaced, with every line."""
        self.noted = 0
        """Lines ever written to the log."""
        self.rotation = 0
        """Quarter turns to the left."""
        self.demo: str | None = None
        """What the clock in the status bar shows; None: the time."""
        self.clipboard = ""
        (folder / "device").mkdir()
        self.shell = DeviceShell(folder / "device", programs(self))
        self._redrawing: set[asyncio.Task[JsonValue]] = set()

    @classmethod
    async def start(
        cls,
        chromium: Chromium,
        *,
        size_px: tuple[int, int],
        key: str | None = None,
        unicode_keyboard: bool = True,
    ) -> Simulator:
        """A device as it comes fresh to its owner.

        Args:
            size_px: width and height of its screen.
            key: the adb server that is let in, by its public key; None: any on this machine.
            unicode_keyboard: whether ADBKeyboard is installed on it.

        Raises:
            InfrastructureError: the browser is gone.
        """
        folder = Path(tempfile.mkdtemp(prefix="deskhand-android-"))
        simulator = cls(chromium, size_px, folder, keyboard=unicode_keyboard)
        try:
            await simulator.shell.start()
            simulator.files.clear()
            simulator._screen = await Screen.start(chromium, size_px, simulator._answer)
            await simulator.reset()
            daemon = Daemon(BANNER, None if key is None else AdbKey.read(key), simulator._service)
            simulator._daemon = daemon
            simulator.port = await daemon.start()
        except BaseException:
            await simulator.close()
            raise
        return simulator

    @property
    def screen(self) -> Screen:
        """The screen."""
        assert self._screen is not None
        return self._screen

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the screen as it is turned now."""
        width, height = self.natural_px
        return (height, width) if self.rotation % 2 else (width, height)

    def alive(self) -> bool:
        """False once its browser is known to be gone."""
        return self._daemon is not None and not self.chromium.control.closed.is_set()

    async def died(self) -> bool:
        """Whether its browser is gone: a page of it can tell so a moment before."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SIGN_S):
                await self.chromium.control.closed.wait()
        return not self.alive()

    async def reset(self) -> None:
        """Make everything as it was when the device came to its owner."""
        self.properties = dict(PROPERTIES)
        self.demo, self.clipboard = None, ""
        self.log.clear()
        self.ports.clear()
        for name in list(self._kept):
            await self.drop(name)
        await asyncio.to_thread(self.files.clear)
        await self._stop_listening()
        first_state.fill(self.tables)
        await self._begin(None, first_state.EPOCH_S * 1000, rotation=0)

    async def save(self) -> str:
        """Keep everything; the name `load` takes."""
        name = uuid.uuid4().hex
        kept: Any = await self.screen.call("keep")
        folder = self._folder / name
        await asyncio.to_thread(self.files.keep, folder)
        self._kept[name] = _Kept(
            rows=self.tables.dump(),
            ui=kept["ui"],
            now_ms=kept["now"],
            properties=dict(self.properties),
            rotation=self.rotation,
            demo=self.demo,
            files=folder,
        )
        return name

    async def load(self, name: str) -> None:
        """Make everything as it was kept.

        Raises:
            UnknownName: nothing was kept under that name.
        """
        if name not in self._kept:
            raise UnknownName("snapshot", name, self._kept)
        await self._become(self._kept[name])

    async def take_after(self, other: Simulator, name: str) -> None:
        """Make everything as another one has kept it."""
        await self._become(other._kept[name])

    async def drop(self, name: str) -> None:
        """Let go of what was kept, where something was under that name."""
        kept = self._kept.pop(name, None)
        if kept is not None:
            await asyncio.to_thread(shutil.rmtree, kept.files, ignore_errors=True)

    async def _become(self, kept: _Kept) -> None:
        await self._stop_listening()
        self.tables.load(kept.rows)
        self.properties, self.demo = dict(kept.properties), kept.demo
        await asyncio.to_thread(self.files.bring_back, kept.files)
        await self._begin(kept.ui, kept.now_ms, rotation=kept.rotation)

    async def close(self) -> None:
        """Let go of everything; safe to call twice."""
        daemon, self._daemon = self._daemon, None
        screen, self._screen = self._screen, None
        try:
            if daemon is not None:
                await daemon.close()
            await self._stop_listening()
            await self.shell.close()
            if screen is not None:
                await screen.close()
        finally:
            self.tables.close()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    # ---- what programs need

    def note(self, tag: str, text: str) -> None:
        """Write a line to the log."""
        at = time.strftime("%m-%d %H:%M:%S.000", time.gmtime(first_state.EPOCH_S))
        self.log.append(f"{at}  1000  1000 I {tag}: {text}")
        self.noted += 1
        self.logged.set()
        self.logged = asyncio.Event()

    async def turn(self, rotation: int) -> None:
        """Turn the screen."""
        self.rotation = rotation % 4
        await self.screen.resize(self.size_px)

    async def shown(self) -> None:
        """Wait until the screen shows the rows as they are."""
        await asyncio.gather(*self._redrawing, return_exceptions=True)

    def redraw(self) -> None:
        """The rows have changed: show it."""
        if self._screen is not None:
            task = asyncio.ensure_future(self._screen.call("changed", self._settings(), self.demo))
            self._redrawing.add(task)
            task.add_done_callback(self._redrawn)

    def _redrawn(self, task: asyncio.Task[JsonValue]) -> None:
        self._redrawing.discard(task)
        if not task.cancelled():
            # a page that is gone is told by whatever looks at it next
            task.exception()

    # ---- how

    async def _begin(self, ui: JsonValue, now_ms: float, *, rotation: int) -> None:
        await self.turn(rotation)
        await self.screen.call("start", ui, self._settings(), self.demo, now_ms)
        self.tables.changed = self.redraw

    async def _stop_listening(self) -> None:
        self.tables.changed = lambda: None
        await self.shown()

    def _settings(self) -> JsonValue:
        return {f"{row['namespace']}/{row['name']}": row["value"] for row in self.tables.select("settings")}

    def _answer(self, method: str, words: Mapping[str, Any]) -> JsonValue:
        """What the page asks for; see `device.js`."""
        tables = self.tables
        try:
            match method:
                case "select":
                    return [dict(row) for row in tables.select(words["table"], where=words["where"])]
                case "insert":
                    return tables.insert(words["table"], words["values"])
                case "update":
                    tables.update(words["table"], words["values"], where=words["where"])
                case "delete":
                    tables.delete(words["table"], where=words["where"])
                case "set":
                    tables.set_setting(words["namespace"], words["name"], words["value"])
                    return self._settings()
                case _:
                    raise ValueError(f"no such question: {method}")
        except QueryError as error:
            raise ValueError(str(error)) from error
        return None

    def _service(self, connection: Connection, name: str) -> Service | None:
        """What an adb client can open."""
        kind, _, rest = name.partition(":")
        words = kind.split(",")
        if words[0] in ("shell", "exec"):
            return self._shell_service(words, rest)
        if name == "sync:":
            return lambda stream: SyncService(self.files, stream).serve()
        if kind == "reverse":
            return self.ports.reverse(connection, rest)
        return self.ports.service(name)

    def _shell_service(self, words: list[str], command: str) -> Service:
        """A device takes who gives no command to want a terminal, unless told otherwise."""
        framed = "v2" in words
        terminal = "pty" in words or not (command or "raw" in words or words[0] == "exec")
        term = next((word.removeprefix("TERM=") for word in words if word.startswith("TERM=")), "dumb")

        async def serve(stream: Stream) -> None:
            if terminal:
                await self.shell.serve_terminal(stream, command, term=term, framed=framed)
            else:
                await self.shell.serve(stream, command, framed=framed)

        return serve
