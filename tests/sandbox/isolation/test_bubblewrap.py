"""Programs that share a leader's namespaces, in real confinements."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.browser.confined import write_launcher
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation import Confinement, Limits
from deskhand_sandbox.isolation.bubblewrap import OUTPUT_BYTES

SOURCES = Path(__file__).parents[3] / "sandbox"
NOBODY = 65534
_FIND = "find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -print 2>/dev/null; true"
WRITABLE = ("sh", "-c", _FIND)
"""Names what of the kernel's own could be written, and opens none of it."""
AS_NOBODY = """
import asyncio, sys, tempfile
from pathlib import Path
from deskhand_sandbox.isolation import Confinement

async def main():
    place = Confinement(Path(tempfile.mkdtemp(dir=sys.argv[1])))
    place.prepare()
    process = await place.lead("sh", "-c", "echo here; exec sleep 600", shown={})
    await process.stdout.readline()
    code, out, err = await place.run(("sh", "-c", "id -un; pgrep sleep"), timeout_s=120)
    print(code, out, err)
    place.remove()
    await process.wait()
    print(place.folder.exists())

asyncio.run(main())
"""

HOLDS_TERMINAL = """
import asyncio, sys, tempfile
from pathlib import Path
from deskhand_sandbox.isolation import Confinement

ASKED = ("sh", "-c", "(: > /dev/tty) 2> /dev/null && echo terminal || echo none; exec sleep $0")

async def main():
    place = Confinement(Path(tempfile.mkdtemp(dir=sys.argv[1])))
    place.prepare()
    try:
        print((await place.run((*ASKED, "0"), timeout_s=120))[1])
        process = await place.lead(*ASKED, "600", shown={})
        print(await process.stdout.readline())
        print((await place.run((*ASKED, "0"), timeout_s=120))[1])
    finally:
        place.remove()

asyncio.run(main())
"""


@pytest_asyncio.fixture
async def led(tmp_path: Path) -> AsyncIterator[tuple[Confinement, asyncio.subprocess.Process]]:
    """A confinement and its leader, which says its process id in there and goes on."""
    folder = tmp_path / "place"
    folder.mkdir()
    made = Confinement(folder, Limits(memory_mb=64, processes=24))
    made.prepare()
    process = await made.lead("sh", "-c", "echo here; exec sleep 600", shown={})
    assert process.stdout is not None
    assert await process.stdout.readline() == b"here\n"
    yield made, process
    made.remove()
    await process.wait()
    assert not folder.exists()


async def test_programs_see_the_leader_and_not_the_machine(
    led: tuple[Confinement, asyncio.subprocess.Process],
) -> None:
    place, _ = led
    code, out, _ = await place.run(("sh", "-c", "pgrep -x sleep; ps ax | wc -l; id -un; pwd"), timeout_s=120)
    sleep, count, *rest = out.decode().split()
    assert (code, rest) == (0, ["agent", "/home/agent"])
    assert int(sleep) < 10
    assert int(count) < 10


async def test_the_kernel_s_settings_are_not_theirs_to_change(
    led: tuple[Confinement, asyncio.subprocess.Process], tmp_path: Path
) -> None:
    (apart := tmp_path / "apart").mkdir()
    alone = Confinement(apart)
    alone.prepare()
    for place in (led[0], alone):
        assert (await place.run(WRITABLE, timeout_s=120))[:2] == (0, b"")
    alone.remove()
    launcher = write_launcher("/bin/sh", tmp_path, apart=True)
    done = subprocess.run(
        [launcher, *WRITABLE[1:], f"--user-data-dir={tmp_path}"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


async def test_of_endless_output_the_beginning_is_kept(
    led: tuple[Confinement, asyncio.subprocess.Process],
) -> None:
    floods = "head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2; wc -c > counted; exit 7"
    code, out, err = await led[0].run(("sh", "-c", floods), given=b"x" * 300_000, timeout_s=120)
    assert (code, len(out), len(err)) == (7, OUTPUT_BYTES, OUTPUT_BYTES)
    assert await led[0].run(("cat", "counted"), timeout_s=120) == (0, b"300000\n", b"")
    assert await led[0].run(("true",), given=b"x" * 300_000, timeout_s=120) == (0, b"", b"")


def test_none_holds_the_terminal_of_who_started_them(
    tmp_path: Path, at_a_terminal: Callable[..., str]
) -> None:
    assert at_a_terminal(HOLDS_TERMINAL, str(tmp_path)).split() == 3 * [r"b'none\n'"]


async def test_words_that_no_program_can_be_given_are_told(
    led: tuple[Confinement, asyncio.subprocess.Process],
) -> None:
    place, _ = led
    with pytest.raises(InfrastructureError, match="true did not start: Argument list too long"):
        await place.run(("true", "a" * 140_000), timeout_s=120)
    assert (await place.run(("true",), timeout_s=120))[0] == 0


async def test_a_program_that_is_stopped_leaves_no_complaint(
    led: tuple[Confinement, asyncio.subprocess.Process],
) -> None:
    gc.collect()
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    with pytest.raises(SandboxTimeout):
        await led[0].run(("sleep", "600"), timeout_s=0.2)
    await asyncio.sleep(0.1)
    gc.collect()
    assert told == []


async def test_a_dead_leader_is_no_failed_command(
    led: tuple[Confinement, asyncio.subprocess.Process],
) -> None:
    place, process = led
    waiting = asyncio.create_task(place.run(("sleep", "600"), timeout_s=600))
    while not (await place.run(("sh", "-c", "pgrep -cx sleep"), timeout_s=120))[1].startswith(b"2"):
        await asyncio.sleep(0.01)
    os.kill(place.leader, 9)
    with pytest.raises(SandboxDied, match="has ended"):
        await waiting
    await process.wait()
    with pytest.raises(SandboxDied, match="has ended"):
        await place.run(("true",), timeout_s=120)
    place.end()
    with pytest.raises(SandboxDied, match="has ended"):
        place.command("true")


@pytest.mark.parametrize(
    ("script", "shown", "said"),
    [("echo no luck >&2", {}, "no luck"), ("true", {Path("/no/such/folder"): "/opt/x"}, "bwrap: ")],
)
async def test_what_a_leader_complains_of_is_told(
    tmp_path: Path, script: str, shown: dict[Path, str], said: str
) -> None:
    place = Confinement(tmp_path)
    place.prepare()
    with pytest.raises(SandboxDied, match=said):
        process = await place.lead("sh", "-c", script, shown=shown)
        await process.wait()
        await place.run(("true",), timeout_s=120)
    place.remove()
    assert not tmp_path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_works_for_who_is_not_root(tmp_path: Path) -> None:
    if "/tmp" not in str(tmp_path) or not Path("/usr/bin/python3").exists():
        pytest.skip("there is no place that everybody reaches")
    environment = {"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]}

    def run(*program: str) -> subprocess.CompletedProcess[str]:
        command = ["/usr/bin/python3", *program]
        return subprocess.run(
            command, user=NOBODY, group=NOBODY, extra_groups=[], env=environment,
            capture_output=True, text=True, check=False, cwd="/", timeout=300,
        )  # fmt: skip

    if run("-c", "import sys, deskhand_sandbox.isolation; sys.exit(sys.version_info < (3, 11))").returncode:
        pytest.skip("the system's Python cannot be used by somebody else here")
    place = Path(f"/tmp/deskhand-test-{os.getpid()}")
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    try:
        done = run("-c", AS_NOBODY, str(place))
        assert "b'agent\\n" in done.stdout, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == "False"
    finally:
        place.rmdir()
