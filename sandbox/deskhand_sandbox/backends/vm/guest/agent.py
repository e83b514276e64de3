"""What answers inside the guest: commands, terminals, windows and typing, over a virtio-serial port.

Lines of JSON both ways. A request has an "id", the "token" of the lease and what to "do"; its answer has the
same id and either "told" or "error". Terminals also speak unasked. Nobody is answered but with the token that
`claim` set last; a guest that nobody has claimed yet takes the first.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from screen import Screen  # pyright: ignore[reportMissingImports, reportUnknownVariableType]  its neighbour

PORT = "org.deskhand.agent"
USER = 1000
HOME = "/home/agent"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "PAGER": "cat",
    "DISPLAY": ":0",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
    "GSETTINGS_BACKEND": "memory",
}
OUTPUT_BYTES = 8 * 1024 * 1024
"""Of what a command prints, at most this much is kept."""
PIECE_BYTES = 64 * 1024
LAST_OUTPUT_S = 0.3
"""How long output is waited for after a command has ended: what it left running may hold the pipe."""
_ADD_ENTROPY, _RESEED = 0x40085203, 0x5207


class Port:
    """The guest's end of the channel."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._writing = threading.Lock()

    @classmethod
    def find(cls) -> Port:
        """The port of this guest; a guest without one has no business with us."""
        names = Path("/sys/class/virtio-ports").glob("*/name")
        found = [path.parent.name for path in names if path.read_text().strip() == PORT]
        return cls(os.open(f"/dev/{found[0]}", os.O_RDWR))

    def lines(self) -> Iterator[bytes]:
        """What the host sends, line by line, for ever."""
        waiting = bytearray()
        while True:
            data = os.read(self._file, PIECE_BYTES)
            if not data:  # the host has let go
                waiting.clear()
                time.sleep(0.02)
                continue
            waiting += data
            if b"\n" in data:
                *whole, rest = bytes(waiting).split(b"\n")
                waiting = bytearray(rest)
                yield from whole

    def send(self, message: dict[str, Any]) -> None:
        # a newline first: what was cut off before, if anything, ends there
        data = memoryview(b"\n" + json.dumps(message).encode() + b"\n")
        with self._writing:
            while data:
                data = data[os.write(self._file, data) :]


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, port: Port, name: str, command: list[str], environment: dict[str, str]) -> None:
        self._port, self._name = port, name
        self._main, side = os.openpty()
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *command],
            stdin=side,
            stdout=side,
            stderr=side,
            env=environment,
            cwd=HOME,
            user=USER,
            group=USER,
            extra_groups=[],
        )
        os.close(side)
        threading.Thread(target=self._read, daemon=True).start()

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._main, data) :]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """End everything of its session."""
        for each in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = each.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:
                    os.kill(int(each.parent.name), signal.SIGKILL)
            except OSError:
                continue
        self._process.wait()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._main, PIECE_BYTES)
            except OSError:  # the last process has closed its end
                break
            self._port.send({"terminal": self._name, "data": base64.b64encode(data).decode()})
        self._port.send({"terminal": self._name, "data": None})


class Agent:
    """What the host can ask for: every method without an underscore."""

    def __init__(self, port: Port, screen: Any) -> None:
        self._port, self._screen = port, screen
        self._token: str | None = None
        self._terminals: dict[str, Terminal] = {}

    def serve(self) -> None:
        for line in self._port.lines():
            try:
                asked: dict[str, Any] = json.loads(line)
            except ValueError:
                continue  # the rest of something cut off
            number, token, do = asked.pop("id"), asked.pop("token", None), asked.pop("do")
            if do == "sync":
                self._port.send({"id": number, "told": {}})
            elif self._token is not None and token != self._token:
                self._port.send({"id": number, "error": "the token is not that of the lease"})
            elif do in ("run", "open", "type"):
                threading.Thread(target=self._answer, args=(number, do, asked), daemon=True).start()
            else:
                self._answer(number, do, asked)

    def _answer(self, number: int, do: str, asked: dict[str, Any]) -> None:
        try:
            told = getattr(self, do)(**asked)
        except Exception as error:  # noqa: BLE001  the host decides what it means
            self._port.send({"id": number, "error": f"{type(error).__name__}: {error}"})
        else:
            self._port.send({"id": number, "told": told or {}})

    # ---- requests

    def claim(self, new: str, clock_s: float, seed: str, machine_id: str | None) -> None:
        """Take a token, and what a copy of a machine must not share with its original."""
        self._token = new
        time.clock_settime(time.CLOCK_REALTIME, clock_s)
        data = bytes.fromhex(seed)
        with Path("/dev/random").open("wb") as source:
            fcntl.ioctl(source, _ADD_ENTROPY, struct.pack("ii", len(data) * 8, len(data)) + data)
            fcntl.ioctl(source, _RESEED)
        if machine_id is not None:
            Path("/etc/machine-id").write_text(machine_id + "\n")

    def run(
        self, program: list[str], given: str, timeout_s: float, as_root: bool, environment: dict[str, str]
    ) -> dict[str, Any]:
        """Run a program in the home to its end; "code" is None where it had to be stopped."""
        who: dict[str, Any] = {} if as_root else {"user": USER, "group": USER, "extra_groups": []}
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            program,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**ENVIRONMENT, **environment},
            cwd=HOME,
            start_new_session=True,
            **who,
        )
        assert process.stdin and process.stdout and process.stderr
        feeder = threading.Thread(target=_feed, args=(process.stdin, base64.b64decode(given)), daemon=True)
        out, err = _Reader(process.stdout), _Reader(process.stderr)
        for thread in (feeder, out, err):
            thread.start()
        code: int | None
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for reader in (out, err):
            reader.join(LAST_OUTPUT_S)
        return {"code": code, "out": out.text(), "err": err.text()}

    def open(self, commands: list[list[str]], deadline_s: float) -> None:
        """Start programs, and wait until as many windows are there."""
        none = subprocess.DEVNULL
        for command in commands:
            subprocess.Popen(
                command,
                stdin=none,
                stdout=none,
                stderr=none,
                env=ENVIRONMENT,
                cwd=HOME,
                user=USER,
                group=USER,
                extra_groups=[],
                start_new_session=True,
            )
        self._screen.wait_for_windows(len(commands), deadline_s)

    def resize(self, width: int, height: int) -> None:
        self._screen.resize(width, height)

    def type(self, text: str, fresh: bool) -> dict[str, Any]:
        return {"typed": self._screen.type(text, fresh=fresh)}

    def keys(self, down: list[str], up: list[str]) -> None:
        self._screen.keys(down, up)

    def scroll_sideways(self, right: int) -> None:
        self._screen.scroll_sideways(right)

    def network(self, up: bool) -> None:
        """Give the network card its address, or take it away."""
        commands = ["ip link set eth0 down", "ip addr flush dev eth0"]
        if up:
            commands = [
                "ip link set eth0 up",
                "ip addr replace 10.0.2.15/24 dev eth0",
                "ip route replace default via 10.0.2.2",
            ]
        for command in commands:
            subprocess.run(command.split(), check=True, capture_output=True)
        Path("/etc/resolv.conf").write_text("nameserver 10.0.2.3\n" if up else "")

    def terminal_start(
        self, name: str, command: list[str], environment: dict[str, str], columns: int, rows: int
    ) -> None:
        terminal = Terminal(self._port, name, command, {**ENVIRONMENT, **environment})
        terminal.resize(columns, rows)
        self._terminals[name] = terminal

    def terminal_write(self, name: str, data: str) -> None:
        self._terminals[name].write(base64.b64decode(data))

    def terminal_resize(self, name: str, columns: int, rows: int) -> None:
        self._terminals[name].resize(columns, rows)

    def terminal_close(self, name: str | None) -> None:
        """End one terminal, or all of them."""
        for each in [name] if name is not None else list(self._terminals):
            terminal = self._terminals.pop(each, None)
            if terminal is not None:
                terminal.close()


class _Reader(threading.Thread):
    """Reads a pipe to its end and keeps the beginning."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe, self._kept = pipe, bytearray()

    def run(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), PIECE_BYTES):
                self._kept += data[: OUTPUT_BYTES - len(self._kept)]

    def text(self) -> str:
        return base64.b64encode(bytes(self._kept)).decode()


def _feed(pipe: IO[bytes], data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.close()
    except OSError:  # it has read enough
        pass


def main() -> None:
    """Once the screen stands, answer until the guest ends."""
    screen = Screen()
    port = Port.find()
    print("deskhand: the agent answers", file=sys.stderr, flush=True)
    Agent(port, screen).serve()


if __name__ == "__main__":
    main()
