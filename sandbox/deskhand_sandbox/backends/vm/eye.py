"""Looks at a VM's screen, and says when it stands still."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from PIL import Image as Picture

from deskhand_sandbox.backends.vm.machine import Frame, Machine
from deskhand_sandbox.pictures import Format, encoded
from deskhand_sandbox.types import Image

POLL_S = 0.02
BUSY_S = 2.0
"""How long at least a screen must not change while the guest is at work all the time."""
ECHO_S = 2.0
"""How long a program may take to show what was typed."""
READ_S = 0.15
PNG_LEVEL = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """A look at the screen."""

    frame: Frame
    captured_at_s: float
    settled_ms: float
    settled: bool
    """False when the deadline came before the screen stood still."""


class Eye:
    """The screen of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    async def frame(self) -> Frame:
        """What it shows now."""
        return await self._machine.frame()

    async def still(self, *, still_s: float, deadline_s: float) -> Sight:
        """What it shows once it has not changed for so long, or at the deadline.

        A guest that is still at work may just not have come to showing it: it has a while longer.
        """
        began = time.monotonic()
        seen, at = await self.frame(), time.time()
        changed = worked = time.monotonic()
        before = False
        while True:
            now = time.monotonic()
            settled = now - changed >= still_s and (now - worked >= still_s or now - changed >= BUSY_S)
            if settled or now - began >= deadline_s:
                return Sight(frame=seen, captured_at_s=at, settled_ms=(now - began) * 1000, settled=settled)
            await asyncio.sleep(POLL_S)
            again, at = await self.frame(), time.time()
            # an idle guest works for a moment now and then: once is nothing
            busy = await self._machine.busy()
            if busy and before:
                worked = time.monotonic()
            before = busy
            if again != seen:
                seen, changed = again, time.monotonic()

    async def changed_and_still(self, before: Frame) -> None:
        """Wait until it shows something else and stands still; at most ECHO_S for each."""
        deadline = time.monotonic() + ECHO_S
        while await self.frame() == before and time.monotonic() < deadline:  # noqa: ASYNC110  frames do not tell
            await asyncio.sleep(POLL_S)
        await self.still(still_s=READ_S, deadline_s=ECHO_S)


def encode(frame: Frame, format: Format, quality: int) -> Image:
    """A frame as a picture; the same frame is always the same bytes."""
    picture = Picture.frombytes("RGB", (frame.width, frame.height), frame.pixels)
    options = {"compress_level": PNG_LEVEL} if format == "png" else {"quality": quality}
    return encoded(picture, format, **options)
