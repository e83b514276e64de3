"""A simulator by itself, for adb and whatever uses it.

`python -m deskhand_sandbox.backends.android.simulator` prints the `adb connect` that reaches it, and runs
until it is interrupted. Any adb of this machine is let in.
"""

from __future__ import annotations

import argparse
import asyncio
import signal

from deskhand_sandbox.backends.android.simulator import Simulator
from deskhand_sandbox.backends.browser.chromium import find_chromium, start_chromium

START_S = 60.0


async def serve(size_px: tuple[int, int]) -> None:
    """Run until the process is asked to end."""
    asked = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, asked.set)
    chromium = await start_chromium(find_chromium(), (), START_S)
    try:
        simulator = await Simulator.start(chromium, size_px=size_px)
        try:
            print(f"adb connect 127.0.0.1:{simulator.port}", flush=True)
            await asyncio.wait(
                {asyncio.ensure_future(asked.wait()), asyncio.ensure_future(chromium.control.closed.wait())},
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            await simulator.close()
    finally:
        await chromium.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="A simulator of an Android device; it runs no Android.")
    parser.add_argument("--width", type=int, default=412, help="of the screen, in pixels")
    parser.add_argument("--height", type=int, default=915, help="of the screen, in pixels")
    words = parser.parse_args()
    asyncio.run(serve((words.width, words.height)))


if __name__ == "__main__":
    main()
