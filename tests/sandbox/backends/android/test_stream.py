"""How a device's programs are ended, by the tools there are on devices and elsewhere."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from deskhand_sandbox.backends.android.adb.stream import ending


@pytest.mark.parametrize("program", ["pkill", "toybox"])
async def test_a_session_is_ended_that_heeds_no_hang_up(program: str, tmp_path: Path) -> None:
    (tmp_path / "pkill").symlink_to(shutil.which(program) or "")
    script = "trap '' HUP INT TERM; (sleep 600) & sleep 601 & echo $!; wait"
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        ended = subprocess.run(
            ["sh", "-c", ending(process.pid)], env={"PATH": str(tmp_path)}, executable="/bin/sh", check=False
        )
        assert ended.returncode == 0
        assert process.wait(120) == -9
        async with asyncio.timeout(120):
            while Path(f"/proc/{child}").exists() and ") Z " not in Path(f"/proc/{child}/stat").read_text():
                await asyncio.sleep(0.01)
    finally:
        process.stdout.close()
        process.kill()
        process.wait()
