"""Terminals of the simulator, as the real adb program opens them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.android import AndroidBackend
from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb
from deskhand_sandbox.backends.android.simulated import Simulated
from deskhand_sandbox.terminal.pty import Pty
from deskhand_sandbox.terminal.screen import TerminalScreen

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
Until = Callable[..., Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Window:
    """`adb shell` in somebody's terminal."""

    pty: Pty
    screen: TerminalScreen

    def type(self, text: str) -> None:
        self.pty.write(text.encode())

    def resize(self, columns: int, rows: int) -> None:
        self.pty.resize(columns, rows)
        self.screen.resize(columns, rows)

    async def resized(self, columns: int, rows: int, seen: Callable[[], bool]) -> None:
        """Resize, and wait until that is seen. The adb client overlooks a new size that comes while it sends
        what was typed, so it is told again and again."""
        self.resize(columns, rows)
        async with asyncio.timeout(120):
            while not seen():
                os.kill(self.pty.pid, signal.SIGWINCH)
                await asyncio.sleep(0.2)

    async def pressed(self, key: str, seen: Callable[[], bool]) -> None:
        """Press a key, and wait until that is seen. A pager told a new size in the middle of reading a key
        drops the key, so it is pressed again, as a person would."""
        async with asyncio.timeout(120):
            while not seen():
                self.type(key)
                await asyncio.sleep(0.5)

    async def shows(self, text: str) -> None:
        try:
            async with asyncio.timeout(120):
                while text not in self.screen.text():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pytest.fail(f"no {text!r} on the screen:\n{self.screen.text()}")


@dataclass(frozen=True, kw_only=True)
class Adb:
    server: AdbServer
    machine: Simulated

    @contextlib.asynccontextmanager
    async def window(self, *words: str) -> AsyncGenerator[Window]:
        """`adb shell WORD…` on a terminal of its own, which it may resize."""
        screen = TerminalScreen(columns=100, rows=30)
        pty = Pty.start(
            [find_adb(), "-s", self.machine.serial, "shell", *words],
            environment={**self.server.environment, "TERM": "xterm-256color"},
            folder=Path("/"),
            columns=100,
            rows=30,
            on_data=screen.feed,
        )
        try:
            yield Window(pty=pty, screen=screen)
        finally:
            await pty.close()

    async def piped(self, *words: str, given: bytes = b"") -> tuple[int | None, str]:
        """`adb shell WORD…` with no terminal around it."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            find_adb(), "-s", self.machine.serial, "shell", *words,
            stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=self.server.environment,
        )  # fmt: skip
        async with asyncio.timeout(120):
            out, _ = await process.communicate(given)
        return process.returncode, out.decode(errors="replace")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def adb(backend: AndroidBackend) -> AsyncIterator[Adb]:
    server = await backend.server()
    assert backend.simulators is not None
    machine = await backend.simulators.start(server)
    yield Adb(server=server, machine=machine)
    await machine.close()


async def test_a_shell_to_type_in(adb: Adb, until: Until) -> None:
    async with adb.window() as window:
        await window.shows("$")
        window.type("tty; stty size; echo $TERM\n")
        await window.shows("/dev/console\n30 100\nxterm-256color")
        # the new size travels beside what is typed, and may come after it
        window.type("until stty size | grep '^40 120'; do sleep 0.1; done\n")
        await window.resized(120, 40, lambda: "\n40 120\n" in window.screen.text())
        window.type("input keyevent 3; getprop ro.product.model\n")
        await window.shows("\nDeskhand Simulator\n")
        window.type("sleep 73201\n")
        await until(True, "73201")
        window.type("\x03")
        await until(False, "73201")
        window.type("exit 5\n")
        async with asyncio.timeout(120):
            await window.pty.ended.wait()
        assert await window.pty.exit_status() == 5


async def test_a_pager_follows_the_size(adb: Adb) -> None:
    async with adb.window("-t", "seq 300 > /sdcard/n; less /sdcard/n") as window:
        await window.shows("\n29\n")
        # it draws anew from the top; below stands a colon, or the file's name where it had not yet said that
        await window.resized(60, 10, lambda: [*map(str, range(1, 10))] == window.screen.lines()[:9])
        await window.pressed("G", lambda: "\n300\n" in window.screen.text())
        assert "\n291\n" not in window.screen.text()
        window.type("q")
        async with asyncio.timeout(120):
            await window.pty.ended.wait()
        assert await window.pty.exit_status() == 0


async def test_an_editor_writes_a_file(adb: Adb) -> None:
    async with adb.window() as window:
        await window.shows("$")
        window.type("vi /sdcard/note\n")
        await window.shows("~\n~")
        window.type("ihello there\x1b:wq\r")
        await window.shows("$")
        window.type("tr a-z A-Z < /sdcard/note\n")
        await window.shows("\nHELLO THERE\n")


async def test_terminals_without_one_around_them(adb: Adb) -> None:
    assert await adb.piped("-tt", "tty; stty size; exit 6") == (6, "/dev/console\r\n0 0\r\n")
    code, said = await adb.piped("-tt", given=b"exit 4\n")
    assert code == 4 and "exit 4\r\n" in said
    assert await adb.piped("-T", "tty") == (1, "not a tty\n")
    # without version 2 of the protocol: bare bytes, and no exit status
    code, said = await adb.piped("-x", given=b"tty; exit 4\n")
    assert code == 0 and "/dev/console\r\n" in said


async def test_a_flood_waits_and_is_whole(adb: Adb) -> None:
    code, said = await adb.piped("-tt", "seq 200000")
    assert code == 0 and said.replace("\r\n", "\n") == "".join(f"{n}\n" for n in range(1, 200_001))


async def test_hanging_up_ends_what_runs(adb: Adb, until: Until) -> None:
    async with adb.window() as window:
        await window.shows("$")
        window.type(
            "trap '' HUP; nohup sleep 73202 & (setsid sleep 73203 &) ; yes > /dev/tty & sleep 73204\n"
        )
        await until(True, "73202", "73203", "73204")
        os.kill(window.pty.pid, signal.SIGKILL)
        await until(False, "73202", "73203", "73204")
    assert (await adb.piped("echo still here"))[1] == "still here\n"
