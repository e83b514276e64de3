"""Whether guests run on KVM. That `/dev/kvm` can be opened says little, and so does a guest of one sector:
there are machines that run it and hang in a real kernel. So a real one is booted, up to its first program."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

from deskhand_sandbox.backends.vm.image.recipe import GoldenImage, cache_folder
from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.manager.processes import boot_id

TRIAL_S = 15.0
KVM = Path("/dev/kvm")
SIGN = b"Run /init as init process"
"""What Linux says once it is up."""


async def choose(asked: str, image: GoldenImage | None) -> str:
    """libvirt's name of the accelerator.

    Args:
        asked: "auto", "kvm" or "emulation".
        image: the golden one, whose kernel is tried; without it only "kvm" means KVM, untried.

    Raises:
        BackendMissing: KVM was asked for, and no guest runs on it.
    """
    if asked == "emulation" or (asked == "auto" and image is None):
        return "qemu"
    openable = os.access(KVM, os.R_OK | os.W_OK)
    works = openable and (image is None or await _tried(image))
    if asked == "kvm" and not works:
        raise BackendMissing("no guest runs on this machine's KVM: use the setting accelerator='emulation'")
    return "kvm" if works else "qemu"


async def _tried(image: GoldenImage) -> bool:
    """Tried once for each boot of this machine."""
    known = cache_folder() / "accelerator.json"
    with suppress(OSError, ValueError, KeyError):
        told = json.loads(known.read_text())
        if told["boot"] == boot_id():
            return bool(told["kvm"])
    assert image.kernel is not None and image.initrd is not None
    works = await runs_guests("kvm", image.kernel, image.initrd)
    known.parent.mkdir(parents=True, exist_ok=True)
    draft = known.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"boot": boot_id(), "kvm": works}))
    draft.replace(known)
    return works


async def runs_guests(accelerator: str, kernel: Path, initrd: Path) -> bool:
    """Whether a kernel comes up on QEMU's accelerator ("kvm", "tcg") in TRIAL_S."""
    pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *("qemu-system-x86_64", "-accel", accelerator, "-m", "256", "-nodefaults", "-display", "none"),
        *("-kernel", str(kernel), "-initrd", str(initrd), "-append", "console=ttyS0 panic=-1"),
        *("-serial", "stdio", "-no-reboot"),
        stdin=none,
        stdout=pipe,
        stderr=none,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(TRIAL_S):
            async for line in process.stdout:
                if SIGN in line:
                    return True
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    return False
