"""What every kind of sandbox must do, as a suite to run against one: `await check_backend(backend, task)`.

Run it on a backend of your own before anything else uses it. It creates up to four sandboxes and closes them.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from blake3 import blake3
from PIL import Image as Picture

from deskhand_sandbox.base import Backend, Capability, Sandbox
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxError,
    UnknownName,
    UnsupportedCapability,
)
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    MovePointer,
    Observation,
    ReadFile,
    Run,
    Task,
    TypeText,
    Wait,
    WriteFile,
)

FLOOD = 200_000
"""Characters of output that nobody wants to read."""
FORMATS = {"png": "PNG", "jpeg": "JPEG", "webp": "WEBP"}


class ConformanceError(AssertionError):
    """What a backend does not do as the contract says, one line for each check that failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What is checked."""

    create: Callable[[], Awaitable[Sandbox]]
    kind: str
    task: Task
    """A task of that kind that can be reset, with a screen that stands still."""


Check = Callable[[Subject, AsyncExitStack], Awaitable[None]]


async def check_backend(backend: Backend, task: Task) -> tuple[str, ...]:
    """Run every check against sandboxes of a backend; returns the names of the checks.

    Raises:
        ConformanceError: some check failed; says which and how.
    """
    return await check_sandboxes(backend.create, kind=backend.kind, task=task)


async def check_sandboxes(
    create: Callable[[], Awaitable[Sandbox]], *, kind: str, task: Task
) -> tuple[str, ...]:
    """`check_backend` for sandboxes that come from elsewhere (a lease, a remote host).

    Raises:
        ConformanceError: some check failed; says which and how.
    """
    subject = Subject(create=create, kind=kind, task=task)
    failures: list[str] = []
    for name, check in CHECKS.items():
        async with AsyncExitStack() as stack:
            try:
                await check(subject, stack)
            except ConformanceError as failure:
                failures.append(f"{name}: {failure}")
            except SandboxError as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
    if failures:
        raise ConformanceError(f"the {kind} sandbox fails {len(failures)} checks\n" + "\n".join(failures))
    return tuple(CHECKS)


async def _fresh(subject: Subject, stack: AsyncExitStack) -> Sandbox:
    return await stack.enter_async_context(await subject.create())


async def _identity(subject: Subject, stack: AsyncExitStack) -> None:
    one, two = await _fresh(subject, stack), await _fresh(subject, stack)
    _need(one.id and two.id and one.id != two.id, f"ids must be given and differ: {one.id!r}, {two.id!r}")
    _need(one.kind == subject.kind, f"its kind is {one.kind!r}, not {subject.kind!r}")
    _need(set(one.capabilities) <= set(Capability), f"unknown capabilities: {set(one.capabilities)}")


async def _reset(subject: Subject, stack: AsyncExitStack) -> None:
    before = time.time()
    start = await (await _fresh(subject, stack)).reset(subject.task)
    _need(start.instruction.strip(), "the instruction is empty")
    _picture(start.observation)
    at = start.observation.captured_at_s
    _need(before - 1 <= at <= time.time() + 1, f"captured_at_s is {at}, not the time of the picture")
    _need(start.observation.settled_ms >= 0, f"settled_ms is {start.observation.settled_ms}")


async def _repeatable(subject: Subject, stack: AsyncExitStack) -> None:
    one, two = await _fresh(subject, stack), await _fresh(subject, stack)
    first, elsewhere = await asyncio.gather(one.reset(subject.task), two.reset(subject.task))
    width, height = first.observation.size_px
    await one.act(Click(x=width // 2, y=height // 2))
    await one.act(TypeText(text="left over"))
    again = await one.reset(subject.task)
    for other, what in ((again, "after another episode"), (elsewhere, "in another sandbox")):
        _need(first.instruction == other.instruction, f"the same seed draws another instruction {what}")
        _same(first.observation, other.observation, f"the same seed shows another start state {what}")


async def _looking(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    start = await sandbox.reset(subject.task)
    _same(start.observation, await sandbox.observe(), "looking changed the screen")
    _same(start.observation, await sandbox.act(Wait(seconds=0.01)), "waiting changed the screen")
    seen = await sandbox.act(MovePointer(x=0, y=0))
    _picture(seen)
    _need(seen.size_px == start.observation.size_px, f"the size went to {seen.size_px}")


async def _off_screen(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    start = await sandbox.reset(subject.task)
    width, height = start.observation.size_px
    for x, y in ((width, 0), (0, height), (-1, 0), (0, -1)):
        error = await _raises(InvalidAction, sandbox.act(Click(x=x, y=y)), f"a click at ({x}, {y})")
        told = str(width) in str(error) and str(height) in str(error)
        _need(told, f"an off-screen click must say the size of the screen: {error}")
    _same(start.observation, await sandbox.observe(), "a refused action changed the screen")
    await sandbox.act(Click(x=width - 1, y=height - 1))


async def _refused_tasks(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    own = subject.task.environment
    other = replace(subject.task, environment=EnvironmentSpec(kind="no such kind"))
    await _raises(InvalidTask, sandbox.reset(other), "a task for another kind")
    wrong = EnvironmentSpec(kind=own.kind, settings={**own.settings, "no_such_setting": 1})
    error = await _raises(
        InvalidTask, sandbox.reset(replace(subject.task, environment=wrong)), "an unknown setting"
    )
    _need("no_such_setting" in str(error), f"the refusal must name the setting: {error}")
    await sandbox.reset(subject.task)


async def _capabilities(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    await sandbox.reset(subject.task)
    asked: Mapping[Capability, Callable[[], Awaitable[object]]] = {
        Capability.EVALUATE: lambda: sandbox.evaluate("1"),
        Capability.TEXT_TREE: lambda: sandbox.observe(text_tree=True),
        Capability.SNAPSHOT: sandbox.snapshot,
        Capability.FORK: lambda: sandbox.fork(1),
        Capability.RUN: lambda: sandbox.act(Run(command="true")),
    }
    for capability, ask in asked.items():
        if capability not in sandbox.capabilities:
            await _raises(UnsupportedCapability, ask(), f"{capability}, which it does not offer,")
    if Capability.TEXT_TREE in sandbox.capabilities:
        seen = await sandbox.observe(text_tree=True)
        _need(isinstance(seen.text_tree, str), "observe(text_tree=True) gave no tree")
    _need((await sandbox.observe()).text_tree is None, "a text tree came without being asked for")


async def _commands(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    if Capability.RUN not in sandbox.capabilities:
        return
    start = await sandbox.reset(subject.task)
    _need(start.observation.output is None, "the start state has output of a command")
    await sandbox.act(WriteFile(path="kept.txt", content="grüße\n"))
    seen = await sandbox.act(Run(command="cat kept.txt && cd / && (exit 3)"))
    _need("grüße" in (seen.output or ""), f"a command does not find the file written: {seen.output!r}")
    _need("3" in (seen.output or ""), f"the exit status is not told: {seen.output!r}")
    _need((await sandbox.act(Run(command="pwd"))).output == "/", "the folder does not stay")
    late = await sandbox.act(Run(command="sleep 30", timeout_s=0.2))
    _need("running" in (late.output or ""), f"a command at its deadline is not told of: {late.output!r}")
    after = await sandbox.act(Run(command="echo after"))
    _need(after.output == "after", f"a command at its deadline blocks the next one: {after.output!r}")
    await _raises(
        InvalidAction, sandbox.act(ReadFile(path="no such file")), "reading a file that is not there"
    )
    await sandbox.reset(subject.task)
    await _raises(InvalidAction, sandbox.act(ReadFile(path="kept.txt")), "a file of an earlier task")


async def _terminal(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    if Capability.RUN not in sandbox.capabilities:
        return
    start = await sandbox.reset(subject.task)
    _need(start.observation.terminal is None, "the start state shows a terminal that nobody has opened")
    drawn = await sandbox.act(Run(command="printf '10%%\\r\\033[1m99%%\\033[0m\\n'; stty size"))
    _need(drawn.output == "99%\n24 80", f"commands run in no terminal of 80 x 24: {drawn.output!r}")
    _need("\n99%\n24 80\n" in (drawn.terminal or ""), f"the screen is not what was drawn: {drawn.terminal!r}")
    later = await sandbox.observe()
    _need(
        later.terminal == drawn.terminal and later.output is None,
        "the screen does not stay, or the output does",
    )
    placed = "printf '\\033[2J\\033[5;10Hmiddle'; sleep 30"
    seen = (await sandbox.act(Run(command=placed, timeout_s=1))).terminal or ""
    _need(
        seen.splitlines()[4:5] and seen.splitlines()[4].startswith(" " * 9 + "middle"),
        f"not in its place: {seen!r}",
    )
    flood = await sandbox.act(Run(command="seq 100000"))
    _need(len(flood.output or "") < FLOOD, f"endless output is kept: {len(flood.output or '')} characters")
    lines = (flood.terminal or "").splitlines()
    _need(len(lines) <= 24 and "100000" in lines, f"the screen after a flood is {flood.terminal!r}")
    await _raises(InvalidAction, sandbox.act(Run(command="exit")), "ending the shell")
    again = await sandbox.act(Run(command="echo again"))
    _need(again.output == "again", f"no new shell after one that has ended: {again.output!r}")
    again = (await sandbox.reset(subject.task)).observation
    _need(again.terminal is None, "the terminal of an earlier task is shown")


async def _snapshots(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    if Capability.SNAPSHOT not in sandbox.capabilities:
        return
    start = await sandbox.reset(subject.task)
    kept = await sandbox.snapshot()
    width, height = start.observation.size_px
    await sandbox.act(Click(x=width // 2, y=height // 2))
    for _ in range(2):
        _same(start.observation, await sandbox.restore(kept), "restore does not bring the kept state back")
    for _ in range(2):
        await sandbox.forget(kept)
    await _raises(UnknownName, sandbox.restore(kept), "going back to a state that was let go of")
    _same(start.observation, await sandbox.observe(), "letting go of a kept state changes the screen")


async def _forks(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    if Capability.FORK not in sandbox.capabilities:
        return
    start = await sandbox.reset(subject.task)
    copies = await sandbox.fork(2)
    for copy in copies:
        stack.push_async_callback(copy.close)
    _need(len({sandbox.id, *(copy.id for copy in copies)}) == 3, "forks share an id")
    await copies[0].act(TypeText(text="only here"))
    for untouched in (sandbox, copies[1]):
        _same(start.observation, await untouched.observe(), "a fork's action reached another sandbox")


async def _closing(subject: Subject, stack: AsyncExitStack) -> None:
    sandbox = await _fresh(subject, stack)
    await sandbox.reset(subject.task)
    await sandbox.close()
    await sandbox.close()
    await _raises(InfrastructureError, sandbox.observe(), "looking at a closed sandbox")


async def _many(subject: Subject, stack: AsyncExitStack) -> None:
    sandboxes = [await _fresh(subject, stack) for _ in range(4)]
    starts = await asyncio.gather(*(each.reset(subject.task) for each in sandboxes))
    for start in starts[1:]:
        _same(starts[0].observation, start.observation, "sandboxes reset at once differ")


CHECKS: Mapping[str, Check] = {
    "identity": _identity,
    "reset": _reset,
    "repeatable": _repeatable,
    "looking": _looking,
    "off screen": _off_screen,
    "refused tasks": _refused_tasks,
    "capabilities": _capabilities,
    "commands": _commands,
    "terminal": _terminal,
    "snapshots": _snapshots,
    "forks": _forks,
    "closing": _closing,
    "many at once": _many,
}
"""Every check by name, in the order they run."""


def _need(held: object, message: str) -> None:
    if not held:
        raise ConformanceError(message)


def _same(one: Observation, two: Observation, message: str) -> None:
    _need(one.screenshot.digest == two.screenshot.digest, message)


def _picture(seen: Observation) -> None:
    image = seen.screenshot
    _need(image.data, "the screenshot has no data")
    data = image.data or b""
    _need(image.digest == blake3(data).hexdigest(), "the digest is not the BLAKE3 of the data")
    with Picture.open(io.BytesIO(data)) as picture:
        _need(picture.size == seen.size_px, f"the picture is {picture.size}, the record says {seen.size_px}")
        _need(picture.format == FORMATS[image.format], f"it is {picture.format}, not {image.format}")


async def _raises(kind: type[Exception], asked: Awaitable[object], what: str) -> Exception:
    try:
        await asked
    except kind as error:
        _need(str(error), f"{what} is refused without a word")
        return error
    raise ConformanceError(f"{what} must raise {kind.__name__} and did not")
