"""Stands in for the SDK's emulator where none is to be had: the same ports, the same ways in.

It is started with the emulator's own command line, tells the adb server of itself as an emulator does,
answers `getprop` over adb's protocol (booted only after some questions), and its console takes what `adb emu`
sends.
What it was told stands in $STANDIN_LOG; $STANDIN_MODE makes it fail.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from deskhand_sandbox.backends.android.simulator.daemon import Connection, Daemon, Service, Stream

MODE = os.environ.get("STANDIN_MODE", "")
QUESTIONS = 3


def note(line: str) -> None:
    with Path(os.environ["STANDIN_LOG"]).open("a") as log:
        log.write(f"{line}\n")


class Device:
    def __init__(self) -> None:
        self.asked = 0

    def find(self, _: Connection, name: str) -> Service | None:
        async def answer(stream: Stream) -> None:
            self.asked += 1
            booted = self.asked > QUESTIONS and MODE != "never"
            said = b"1\nstopped\n" if booted else b"\nrunning\n"
            for kind, data in ((1, said), (3, b"\0")):
                await stream.write(bytes([kind]) + len(data).to_bytes(4, "little") + data)

        return answer if name.startswith("shell,v2") else None


async def console(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"Android Console: type 'help' for a list of commands\r\nOK\r\n")
    while line := (await reader.readline()).decode().strip():
        if line == "auth token":
            writer.write(b"OK\r\n")
            continue
        if line == "quit":
            break
        note(f"console: {line}")
        if line == "kill":
            os._exit(0)
        refused = "missing" in line or ("snapshot save" in line and "-read-only" in sys.argv)
        writer.write(b"KO: no such snapshot\r\n" if refused else b"OK\r\n")
    writer.close()


async def main() -> None:
    note(f"emulator: {' '.join(sys.argv[1:])}")
    if MODE == "refuse":
        print("PANIC: Cannot find AVD system path", file=sys.stderr)
        sys.exit(1)
    (Path.home() / ".emulator_console_auth_token").write_text("token")
    ports = sys.argv[sys.argv.index("-ports") + 1].split(",")
    server = await asyncio.start_server(console, "127.0.0.1", int(ports[0]))
    daemon = Daemon("device::ro.product.name=standin", None, Device().find)
    await daemon.start(int(ports[1]))
    # as the emulator tells the adb server of itself
    _, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["ANDROID_ADB_SERVER_PORT"]))
    word = f"host:emulator:{ports[1]}".encode()
    writer.write(f"{len(word):04x}".encode() + word)
    await writer.drain()
    async with server:
        await server.serve_forever()


asyncio.run(main())
