"""The simulated device's shell: its own programs at once, everything else by a real `sh` in a confinement.

A command line of plain words that names programs of the device (`input tap 10 20; input tap 10 20`) is
carried out here. Any other one is a shell's: it runs among the device's files, without network, and finds the
device's programs on its PATH; those call back here through a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from deskhand_sandbox.backends.android.shell_protocol import ERR, EXIT, OUT, frame
from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError
from deskhand_sandbox.backends.android.simulator.daemon import Stream
from deskhand_sandbox.backends.android.simulator.files import HOME
from deskhand_sandbox.backends.android.simulator.packets import Packets
from deskhand_sandbox.backends.android.simulator.terminals import Terminal
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.isolation import Confinement, Limits

SCRIPTS = tuple(Path(__file__).with_name(name) for name in ("caller.py", "foreground.py"))
"""What runs inside."""
SYSTEM = "/system"
PYTHON = "/opt/deskhand"
LIMITS = Limits(memory_mb=512, processes=64)
LONGEST_REQUEST = 1 << 20
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_SHELLS_OWN = re.compile(r"[|&;<>()$`\\\"*?\[\]#~!{}\n]")
_PARTS = re.compile(r"\s*(;|&&)\s*")
_PART_BYTES = 64 * 1024


class DeviceConfinement(Confinement):
    """A confinement with the device's folders in it."""

    def prepare(self) -> None:
        super().prepare()
        self.variables |= {
            "PATH": f"{SYSTEM}/bin:/usr/bin:/bin",
            "HOME": HOME,
            "USER": "shell",
            "SHELL": "/bin/sh",
        }

    def _apart(self, shown: Mapping[Path, str] | None = None) -> list[str]:
        words = super()._apart({**_python()[1], **(shown or {})})
        del words[words.index("--chdir") :]
        for name in ("data", "sdcard"):
            words += ["--bind", str(self.folder / name), f"/{name}"]
        words += ["--ro-bind", str(self.folder / "system"), SYSTEM]
        return [*words, "--chdir", "/"]


class DeviceShell:
    """Runs command lines on the device."""

    def __init__(self, folder: Path, programs: Mapping[str, Program]) -> None:
        """
        Args:
            folder: has the device's files in it, and nothing else.
        """
        self._programs = programs
        self._confinement = DeviceConfinement(folder, LIMITS)
        self._server: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Put the device's programs where a shell finds them."""
        self._confinement.prepare()
        system = self._confinement.folder / "system"
        (system / "bin").mkdir(parents=True)
        python, _ = _python()
        for script in SCRIPTS:
            (system / script.name).write_text(script.read_text())
        for name in self._programs:
            place = system / "bin" / name
            place.write_text(f'#!/bin/sh\nexec {python} -I -S {SYSTEM}/caller.py {name} "$@"\n')
            place.chmod(0o755)
        self._server = await asyncio.start_unix_server(self._called, sock=_listening(system))

    async def close(self) -> None:
        """End what runs, and take the files away."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in list(self._calls):
            task.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await asyncio.to_thread(self._confinement.remove)

    async def serve(self, stream: Stream, command: str, *, framed: bool) -> None:
        """Run what an adb client asks for.

        Args:
            command: empty: a shell that reads its commands from the stream.
            framed: version 2 of the shell protocol: errors apart, and an exit status at the end.
        """

        async def write(data: bytes) -> None:
            await stream.write(frame(OUT, data) if framed else data)

        async def write_error(data: bytes) -> None:
            await stream.write(frame(ERR, data) if framed else data)

        read = Packets(stream.read).input if framed else stream.read
        # the client going away ends the command
        code = await self.run(command, read, write, write_error)
        if framed:
            await stream.write(frame(EXIT, bytes([code & 0xFF])))

    async def serve_terminal(self, stream: Stream, command: str, *, term: str, framed: bool) -> None:
        """Run what an adb client asks for on a pseudo-terminal.

        Args:
            command: empty: a shell for somebody to type in.
            term: the terminal's type.
            framed: as in `serve`; what is not framed tells no exit status, and no size of the terminal.
        """
        words = ("sh", "-c", command) if command else ("sh",)
        program = self._confinement.command(_python()[0], "-I", "-S", f"{SYSTEM}/foreground.py", *words)
        environment = {**self._confinement.environment, "TERM": term}
        await Terminal(program, environment, self._confinement.folder, stream, framed=framed).serve()

    async def run(
        self,
        command: str,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], Awaitable[None]],
        write_error: Callable[[bytes], Awaitable[None]],
    ) -> int:
        """Run a command line; its exit status."""
        plain = self._plain(command)
        if plain is None:
            return await self._by_shell(command, read, write, write_error)
        code = 0
        for joint, words in plain:
            if joint == ";" or code == 0:
                call = Call(words=words, read=read, write=write, write_error=write_error)
                code = await self._carry_out(call)
        return code

    def _plain(self, command: str) -> list[tuple[str, tuple[str, ...]]] | None:
        """Joint and words of each part; None where it takes a shell to tell."""
        quoted: list[str] = []

        def put_by(found: re.Match[str]) -> str:
            quoted.append(found[0])
            return f"\0{len(quoted) - 1}\0"

        bare = _QUOTED.sub(put_by, command)
        parts: list[tuple[str, tuple[str, ...]]] = []
        joint = ";"
        for index, piece in enumerate(_PARTS.split(bare.strip())):
            if index % 2:
                joint = piece
                continue
            if _SHELLS_OWN.search(piece):
                return None
            whole = re.sub(r"\0(\d+)\0", lambda found: quoted[int(found[1])], piece)
            try:
                words = tuple(shlex.split(whole))
            except ValueError:
                return None
            if not words or words[0] not in self._programs:
                return None
            parts.append((joint, words))
        return parts

    async def _carry_out(self, call: Call) -> int:
        try:
            return await self._programs[call.words[0]](call)
        except (UsageError, InfrastructureError) as error:
            return await call.complain(f"{call.words[0]}: {error}")

    # ---- a real shell

    async def _by_shell(
        self,
        command: str,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], Awaitable[None]],
        write_error: Callable[[bytes], Awaitable[None]],
    ) -> int:
        pipe = asyncio.subprocess.PIPE
        program = ("sh", "-c", command) if command else ("sh",)
        process = await asyncio.create_subprocess_exec(
            *self._confinement.command(*program),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=self._confinement.environment,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        feeding = asyncio.create_task(_feed(read, process.stdin))
        try:
            await asyncio.gather(_drain(process.stdout, write), _drain(process.stderr, write_error))
            return _status(await process.wait())
        finally:
            feeding.cancel()
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            await asyncio.gather(feeding, return_exceptions=True)

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A program of the device was run by a shell: see `caller.py`."""
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)

        async def send(kind: int, data: bytes) -> None:
            writer.write(frame(kind, data))
            await writer.drain()

        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
                size = int.from_bytes(await reader.readexactly(4), "little")
                words = json.loads(await reader.readexactly(min(size, LONGEST_REQUEST)))
                call = Call(
                    words=tuple(map(str, words)),
                    read=Packets(lambda: reader.read(_PART_BYTES)).input,
                    write=lambda data: send(OUT, data),
                    write_error=lambda data: send(ERR, data),
                )
                await send(EXIT, bytes([await self._carry_out(call) & 0xFF]))
        except asyncio.CancelledError:
            return
        finally:
            writer.close()
            self._calls.discard(task)


async def _feed(read: Callable[[], Awaitable[bytes]], into: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await read():
            into.write(data)
            await into.drain()
    into.close()


async def _drain(source: asyncio.StreamReader, write: Callable[[bytes], Awaitable[None]]) -> None:
    while data := await source.read(_PART_BYTES):
        await write(data)


def _listening(folder: Path) -> socket.socket:
    """The socket the device's programs call back through.

    Its address is short however long the folder's name: a socket's may have 107 bytes.
    """
    listening = socket.socket(socket.AF_UNIX)
    number = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{number}/device.sock")
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(number)
    return listening


def _status(code: int) -> int:
    return 128 - code if code < 0 else code


def _python() -> tuple[str, dict[Path, str]]:
    """A Python as it is found inside, and what has to be shown for that."""
    base = Path(sys.base_prefix)
    program = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if base.is_relative_to("/usr"):
        return str(base / "bin" / program), {}
    return f"{PYTHON}/bin/{program}", {base: PYTHON}
