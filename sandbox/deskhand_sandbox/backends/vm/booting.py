"""Boots an image: from power on until its agent answers, or until its screen stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.connection import Connection
from deskhand_sandbox.backends.vm.domain import Hardware
from deskhand_sandbox.backends.vm.image.recipe import GoldenImage
from deskhand_sandbox.backends.vm.machine import Frame, Machine
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout

LOOK_S = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class Booted:
    """A machine that came up."""

    machine: Machine
    boot_s: float
    """From power on until it was up."""


@asynccontextmanager
async def booted(
    connection: Connection,
    image: GoldenImage,
    hardware: Hardware,
    draft: Path,
    *,
    deadline_s: float,
    still_s: float,
) -> AsyncGenerator[Booted]:
    """A machine that has been powered on and came up; it is ended with the block.

    Args:
        draft: a folder for its disk.
        deadline_s: longest the boot and the block may take together.
        still_s: how long the screen of a guest without our agent stands still once it has booted.

    Raises:
        SandboxTimeout: it did not come up; says the last lines of its console.
        InfrastructureError: it ended, or the block failed.
    """
    disk = draft / "disk.qcow2"
    await _overlay(image.disk, disk)
    machine = await Machine.start(connection, hardware, disk)
    channel = None
    try:
        async with asyncio.timeout(deadline_s):
            began = time.monotonic()
            await machine.resume()
            if image.agent:
                channel = await Channel.connect(machine.channel)
                await channel.ready(deadline_s)
                boot_s = time.monotonic() - began
            else:
                await stand_still(machine, still_s)
                boot_s = time.monotonic() - began - still_s
            yield Booted(machine=machine, boot_s=boot_s)
    except (TimeoutError, SandboxTimeout) as error:
        said = f"the VM was not up in {deadline_s:g} s; {_last_words(machine)}"
        raise SandboxTimeout(said) from error
    except SandboxDied as error:
        said = f"the VM ended while it booted ({error}); {_last_words(machine)}"
        raise InfrastructureError(said) from error
    finally:
        if channel is not None:
            await channel.close()
        await machine.close()


async def stand_still(machine: Machine, still_s: float) -> Frame:
    """The screen once it has not changed for so long.

    Raises:
        SandboxDied: the machine ended before.
    """
    seen: Frame | None = None
    changed = time.monotonic()
    while True:
        with suppress(InfrastructureError):  # a screen that changes its size is not whole for a moment
            frame = await machine.frame()
            if frame != seen:
                seen, changed = frame, time.monotonic()
        if machine.ended is not None:
            raise SandboxDied(machine.ended)
        if seen is not None and time.monotonic() - changed >= still_s:
            return seen
        await asyncio.sleep(LOOK_S)


def _last_words(machine: Machine) -> str:
    said = machine.console()
    return f"its console ends with:\n{said}" if said else "its console is empty"


async def _overlay(base: Path, disk: Path) -> None:
    """A disk on top of another, which is never written to.

    Raises:
        InfrastructureError: the other is no qcow2, or there is no room.
    """
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(base), "-F", "qcow2", str(disk)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode:
        raise InfrastructureError(f"{base} cannot be a VM's disk: {said.decode(errors='replace').strip()}")
