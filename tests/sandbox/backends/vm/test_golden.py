"""VMs of the golden image: a real Linux with a screen and applications, worked from outside and by its agent.

Its tests need the image (`deskhand sandbox build vm`) and are skipped where it has not been built.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.vm import create
from deskhand_sandbox.backends.vm.image import find
from deskhand_sandbox.backends.vm.sandbox import VmSandbox
from deskhand_sandbox.base import Backend, Capability, Sandbox
from deskhand_sandbox.conformance import check_backend
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    VerifierError,
)
from deskhand_sandbox.types import (
    Click,
    Drag,
    EditFile,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Press,
    ReadFile,
    Run,
    Scroll,
    Task,
    TypeText,
    WriteFile,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("qemu-system-x86_64") is None or find() is None, reason="the golden image is not built"
    ),
]
MakeTask = Callable[..., Task]
TERMINAL: list[JsonValue] = ["xterm", "-geometry", "80x24+20+20"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend(left: Callable[[], list[object]]) -> AsyncIterator[Backend]:
    backend = create()
    yield backend
    await backend.close()
    assert not left()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox(backend: Backend) -> AsyncIterator[VmSandbox]:
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, VmSandbox)
        yield sandbox


async def shell(sandbox: Sandbox, command: str) -> str:
    return (await sandbox.act(Run(command=command))).output or ""


async def until(sandbox: Sandbox, command: str) -> None:
    """Until a shell command succeeds: programs take their time to start and to read."""
    async with asyncio.timeout(120):
        while await sandbox.evaluate(command) is False:
            await asyncio.sleep(0.05)


async def test_the_golden_guest_conforms(backend: Backend, guest_task: MakeTask) -> None:
    quiet: list[JsonValue] = ["xterm", "-geometry", "60x20+20+20", "-e", "cat"]
    await check_backend(backend, guest_task(applications=[quiet], still_ms=300))


async def test_any_text_is_typed(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task(applications=[TERMINAL]))
    text = 'grüße 日本語 😀 €uro "q" ~|\\^` ЖЩ' + "".join(chr(0x4E00 + n) for n in range(200))
    await sandbox.act(TypeText(text="cat > typed\n"))
    await until(sandbox, "test -f typed")
    await sandbox.act(TypeText(text=f"{text}\n"))
    await until(sandbox, "test -s typed")
    assert await sandbox.evaluate("cat typed") == text
    with pytest.raises(InvalidAction, match="no character a keyboard types"):
        await sandbox.act(TypeText(text="bell\a"))


async def test_keys_work_together_and_alone(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task(applications=[TERMINAL]))
    await sandbox.act(TypeText(text="cat > keys\n"))
    await until(sandbox, "test -f keys")
    for key in "abc":
        await sandbox.act(Press(keys=(key,)))
    await sandbox.act(Press(keys=("Backspace",)))
    await sandbox.act(KeyDown(key="Shift"))
    await sandbox.act(Press(keys=("d",)))
    await sandbox.act(KeyUp(key="Shift"))
    await sandbox.act(Press(keys=("é",)))
    await sandbox.act(Press(keys=("Enter",)))
    await until(sandbox, "test -s keys")
    assert await sandbox.evaluate("cat keys") == "abDé"
    with pytest.raises(InvalidAction, match="did you mean Enter"):
        await sandbox.act(Press(keys=("Entr",)))


async def test_the_pointer_lands_where_it_is_sent(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    seen = (await sandbox.reset(guest_task())).observation
    assert seen.size_px == (1280, 720)
    for x, y in ((0, 0), (1, 1), (333, 517), (640, 360), (1279, 719)):
        await sandbox.act(MovePointer(x=x, y=y))
        told = await sandbox.evaluate("xdotool getmouselocation --shell | head -2 | cut -d= -f2 | paste -sd,")
        assert told == f"{x},{y}"


async def test_the_pointer_drags_and_turns_the_wheel(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(
        guest_task(applications=[TERMINAL], prepare="seq 200 > numbers; echo one two > words")
    )
    await sandbox.act(TypeText(text="clear; cat words; touch shown\n"))
    await until(sandbox, "test -f shown")
    await sandbox.act(Click(x=200, y=200))
    await sandbox.act(Drag(path=((22, 48), (240, 48))))
    assert "one two" in str(await sandbox.evaluate("xclip -o"))
    await sandbox.act(TypeText(text="cat numbers; touch counted\n"))
    await until(sandbox, "test -f counted")
    bottom = await sandbox.observe()
    above = await sandbox.act(Scroll(x=200, y=200, dy_px=-300))
    assert above.screenshot.digest != bottom.screenshot.digest
    again = await sandbox.act(Scroll(x=200, y=200, dy_px=300))
    assert again.screenshot.digest != above.screenshot.digest


async def test_files_and_the_terminal_are_the_guest_s(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task(prepare="echo $SEED > seed"))
    assert await shell(sandbox, "cat seed; id -un; uname -n") == "0\nagent\ndesk"
    await sandbox.act(WriteFile(path="a/b.txt", content="one\n"))
    await sandbox.act(EditFile(path="a/b.txt", old="one", new="two"))
    assert (await sandbox.act(ReadFile(path="a/b.txt"))).output == "two\n"
    assert "0000000000000000" in await shell(sandbox, "grep CapEff /proc/self/status")
    assert await sandbox.evaluate("echo '[1, 2]'") == [1, 2]
    with pytest.raises(VerifierError, match="exit status 5: bad"):
        await sandbox.evaluate("echo bad >&2; exit 5")
    with pytest.raises(InvalidTask, match="exit status 4: no luck"):
        await sandbox.reset(guest_task(prepare="echo no luck >&2; exit 4"))
    with pytest.raises(InfrastructureError, match="no-such-program"):
        await sandbox.reset(guest_task(applications=[["no-such-program"]]))


@pytest.mark.parametrize(
    ("program", "title"),
    [
        (["mousepad"], "Untitled"),
        (["pcmanfm"], "agent"),
        (["gnumeric", "--no-splash"], "Book1"),
        (["galculator"], "galculator"),
    ],
)
async def test_applications_open(
    sandbox: VmSandbox, guest_task: MakeTask, program: list[JsonValue], title: str
) -> None:
    empty = (await sandbox.reset(guest_task())).observation
    seen = (await sandbox.reset(guest_task(applications=[program]))).observation
    assert seen.screenshot.digest != empty.screenshot.digest
    assert title in str(await sandbox.evaluate("wmctrl -l"))


async def test_the_accessibility_tree_names_what_is_on_the_screen(
    sandbox: VmSandbox, guest_task: MakeTask
) -> None:
    assert Capability.TEXT_TREE in sandbox.capabilities
    await sandbox.reset(guest_task(applications=[["mousepad", "note.txt"]], prepare="echo hello > note.txt"))
    tree = (await sandbox.observe(text_tree=True)).text_tree or ""
    assert 'menu "File"' in tree and "hello" in tree


async def test_a_clone_is_a_machine_of_its_own(
    backend: Backend, sandbox: VmSandbox, guest_task: MakeTask
) -> None:
    ask = "cat /etc/machine-id; head -c 16 /dev/urandom | base64; date +%s"
    async with await backend.create() as other:
        told = list[list[str]]()
        for each in (sandbox, other, sandbox):
            await each.reset(guest_task())
            told.append(str(await each.evaluate(ask)).split())
            assert abs(int(told[-1][2]) - time.time()) < 30
    assert len({each[0] for each in told}) == 3
    assert len({each[1] for each in told}) == 3


async def test_a_fork_is_exact_and_goes_its_own_way(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task(applications=[TERMINAL]))
    await sandbox.act(TypeText(text="echo kept > file; (while sleep 1; do date +%s > alive; done) &\n"))
    await until(sandbox, "test -s alive")
    before = await sandbox.observe()
    one, two = await sandbox.fork(2)
    async with one, two:
        assert (await one.observe()).screenshot.digest == before.screenshot.digest
        assert await one.evaluate("cat file") == "kept"
        await one.evaluate("echo other > file; rm alive")
        await until(one, "test -s alive")
        assert [await each.evaluate("cat file") for each in (sandbox, one, two)] == ["kept", "other", "kept"]
        kept = await two.snapshot()
        await two.evaluate("rm file")
        await two.restore(kept)
        assert await two.evaluate("cat file") == "kept"
        await two.reset(guest_task())
        assert await two.evaluate("ls") == "Documents"


async def test_the_network_is_there_only_when_asked_for(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nfrom the host")
        await writer.drain()
        writer.close()

    def asking(host: str, port: int) -> str:
        address = f"http://{host}:{port}"
        code = f"import urllib.request as u; print(u.urlopen('{address}', timeout=60).read().decode())"
        return f'python3 -c "{code}" 2>/dev/null || echo none'

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        own_address = probe.getsockname()[0]
    hidden = await asyncio.start_server(answer, "127.0.0.1", 0)
    shown = await asyncio.start_server(answer, own_address, 0)
    async with hidden, shown:
        loopback = asking("10.0.2.2", hidden.sockets[0].getsockname()[1])
        others = asking(own_address, shown.sockets[0].getsockname()[1])
        await sandbox.reset(guest_task(network=True))
        assert [await sandbox.evaluate(each) for each in (others, loopback)] == ["from the host", "none"]
        await sandbox.reset(guest_task())
        assert [await sandbox.evaluate(each) for each in (others, loopback)] == ["none", "none"]


async def test_a_task_has_the_screen_it_asks_for(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    seen = (await sandbox.reset(guest_task(size_px=[1024, 768]))).observation
    assert seen.size_px == (1024, 768)
    await sandbox.act(MovePointer(x=1023, y=767))
    assert "X=1023\nY=767" in str(await sandbox.evaluate("xdotool getmouselocation --shell"))
    assert (await sandbox.reset(guest_task())).observation.size_px == (1280, 720)


async def test_a_guest_that_shuts_down_is_dead_and_leaves_nothing(
    backend: Backend, guest_task: MakeTask
) -> None:
    dying = await backend.create()
    await dying.reset(guest_task())
    assert isinstance(dying, VmSandbox)
    folder: Path = dying.machine.folder
    await dying.machine.tell("system_reset")
    with pytest.raises(SandboxDied):
        for _ in range(200):
            await dying.observe()
    assert not dying.alive()
    await dying.close()
    assert not folder.exists()
