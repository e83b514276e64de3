"""What answers inside the guest: programs, windows and typing, over a virtio-serial port.

Lines of JSON both ways. A request has an "id", the "token" of the lease and what to "do"; its answer has the
same id and either "told" or "error". Terminals also speak unasked. Nobody is answered but with the token that
`claim` set last; a guest that nobody has claimed yet takes the first.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# its neighbours
import programs  # pyright: ignore[reportMissingImports]
from screen import Screen  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

PORT = "org.deskhand.agent"
PIECE_BYTES = 64 * 1024
TAKES_TIME = frozenset({"run", "open", "type", "terminal_write"}) | {
    "program_read",
    "program_write",
    "program_words",
    "program_close",
}
"""Requests beside which others are answered."""
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


class Agent:
    """What the host can ask for: every method without an underscore."""

    def __init__(self, port: Port, screen: Any) -> None:
        self._port, self._screen = port, screen
        self._token: str | None = None
        self._terminals: dict[str, programs.Terminal] = {}
        self._programs: dict[str, programs.Program] = {}

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
            elif do in TAKES_TIME:
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

    def run(self, program: list[str], given: str, timeout_s: float) -> dict[str, Any]:
        """Run a program in the home to its end; "code" is None where it had to be stopped."""
        code, out, err = programs.run(program, _bytes(given), timeout_s)
        return {"code": code, "out": _text(out), "err": _text(err)}

    def open(self, commands: list[list[str]], deadline_s: float) -> None:
        """Start programs, and wait until as many windows are there."""
        none = subprocess.DEVNULL
        for command in commands:
            programs.start(command, stdin=none, stdout=none, stderr=none, start_new_session=True)
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
        def tell(data: bytes | None) -> None:
            self._port.send({"terminal": name, "data": None if data is None else _text(data)})

        terminal = self._terminals[name] = programs.Terminal(command, environment, tell)
        terminal.resize(columns, rows)

    def terminal_write(self, name: str, data: str) -> None:
        self._terminals[name].write(_bytes(data))

    def terminal_resize(self, name: str, columns: int, rows: int) -> None:
        self._terminals[name].resize(columns, rows)

    def terminal_close(self, name: str) -> None:
        if (terminal := self._terminals.pop(name, None)) is not None:
            terminal.close()

    def program_start(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        self._programs[name] = programs.Program(command, environment)

    def program_read(self, name: str) -> dict[str, Any]:
        """What it prints next; "data" is None once there will be no more."""
        data = self._programs[name].read()
        return {"data": None if data is None else _text(data)}

    def program_write(self, name: str, data: str) -> None:
        self._programs[name].write(_bytes(data))

    def program_words(self, name: str) -> dict[str, Any]:
        return {"words": _text(self._programs[name].words())}

    def program_close(self, name: str) -> dict[str, Any]:
        """Give it time to end, and end it; what it complained of."""
        program = self._programs.pop(name)
        program.leave()
        return {"words": _text(program.words())}

    def end_all(self) -> None:
        """End every terminal and program: nobody knows them any more."""
        for running in (self._terminals, self._programs):
            while running:
                running.popitem()[1].close()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def main() -> None:
    """Once the screen stands, answer until the guest ends."""
    screen = Screen()
    port = Port.find()
    print("deskhand: the agent answers", file=sys.stderr, flush=True)
    Agent(port, screen).serve()


if __name__ == "__main__":
    main()
