"""Runs inside the simulated device: hands a program's words to the simulator, and its output to the shell.

`python caller.py NAME WORD…`. It imports nothing of Deskhand.
"""

import json
import os
import socket
import struct
import sys
import threading

HEADER = struct.Struct("<BI")


def main() -> int:
    device = socket.socket(socket.AF_UNIX)
    device.connect("/system/device.sock")
    words = json.dumps(sys.argv[1:]).encode()
    device.sendall(struct.pack("<I", len(words)) + words)
    threading.Thread(target=feed, args=(device,), daemon=True).start()
    answers = device.makefile("rb")
    while True:
        header = answers.read(HEADER.size)
        if len(header) < HEADER.size:
            return 255
        kind, size = HEADER.unpack(header)
        data = answers.read(size)
        if kind == 3:
            return data[0]
        os.write(kind, data)


def feed(device: socket.socket) -> None:
    while data := os.read(0, 65536):
        device.sendall(HEADER.pack(0, len(data)) + data)
    device.sendall(HEADER.pack(4, 0))


if __name__ == "__main__":
    # os._exit: the thread may wait for input that never comes
    code = main()
    sys.stdout.flush()
    os._exit(code)
