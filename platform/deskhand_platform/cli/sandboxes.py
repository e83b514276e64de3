"""`deskhand sandbox …`: the kinds of computer, and one of them to try out by hand."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import GRAMMAR, parse_reply
from deskhand_platform.cli import overrides
from deskhand_platform.cli.console import Json, complain, err, out, say, table
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import load_settings
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import BackendMissing, InvalidAction, UnknownName, UnsupportedCapability
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.manager.loan import LeasedSandbox
from deskhand_sandbox.registry import backend_kinds, create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import (
    Action,
    ControlAction,
    DeviceAction,
    EnvironmentSpec,
    JsonValue,
    Observation,
    Task,
    VerifierSpec,
)
from deskhand_sandbox.vnc import VncAddress

app = typer.Typer(help="Computers for an agent: which kinds there are, and one to try.", no_args_is_help=True)

STARTS: dict[str, dict[str, JsonValue]] = {
    "android": {"app": "Contacts"},
    "browser": {"url": "data:text/html,<h1>A%20browser</h1><input%20autofocus><button>OK</button>"},
    "desktop": {"applications": [["xterm", "-geometry", "100x30+40+40"]]},
    "vm": {"applications": [["xterm", "-geometry", "100x30+40+40"]]},
}
"""What stands open where no task is named."""
Kind = Annotated[
    str, typer.Argument(help="kind of sandbox, see `deskhand sandbox list`; or a pool of the settings")
]
SET_HELP = "setting of its kind, e.g. machine=attached; repeatable"
Set = Annotated[list[str] | None, typer.Option("--set", help=SET_HELP)]


@app.command("list", epilog="Example:  deskhand sandbox list")
def list_kinds(as_json: Json = False) -> None:
    """The kinds of sandbox, and whether each can be made here."""
    missing: dict[str, str | None] = {}
    for kind in backend_kinds():
        try:
            create_backend(kind)
        except BackendMissing as error:
            missing[kind] = str(error)
        else:
            missing[kind] = None
    if as_json:
        shown = [{"kind": kind, "here": why is None, "missing": why} for kind, why in missing.items()]
        out.print(json.dumps(shown), soft_wrap=True)
        return
    lines = table("kind", "here", "")
    for kind, why in missing.items():
        lines.add_row(kind, "yes" if why is None else "no", why or "")
    out.print(lines)


@app.command(
    "try",
    epilog="Examples:  deskhand sandbox try desktop   ·   "
    "deskhand sandbox try browser --task miniwob/click-test   ·   "
    "deskhand sandbox try desktop --do \"type(content='ls\\\\n')\" --do \"run(command='pwd')\"   ·   "
    "deskhand sandbox try android --set machine=attached --set serials=[R58M123ABC]",
)
def try_one(
    kind: Kind,
    do: Annotated[
        list[str] | None, typer.Option("--do", help="an action, as agents write them; several in order")
    ] = None,
    task: Annotated[str, typer.Option(help="start state: a task of that kind")] = "",
    seed: Annotated[int, typer.Option(help="of the task")] = 1,
    screens: Annotated[Path | None, typer.Option(help="folder for the screenshots")] = None,
    live: Annotated[bool, typer.Option("--live", help="show it in a page, to look on and to act in")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="of that page; 0: a free one")] = 0,
    vnc: Annotated[bool, typer.Option("--vnc", help="serve its screen to VNC viewers (desktop, vm)")] = False,
    video: Annotated[Path | None, typer.Option(help="keep a video: a name in .mp4 or .webm")] = None,
    set_: Set = None,
) -> None:
    """Open a real computer and act in it: by --do, by lines on standard input, or by what you type.

    Each action is written as agents write it, `help` lists them; every screen is kept as a picture.
    """
    pool = _computer(kind, set_)
    if pool.kind == "vm" and pool.settings.get("image") is None:
        _build_image()
    start = _start(pool.kind, task, seed)
    given = [(text, _read(text)) for text in do] if do else None
    folder = screens or Path(tempfile.mkdtemp(prefix="deskhand-screens-"))
    folder.mkdir(parents=True, exist_ok=True)
    raise typer.Exit(
        run_until_signal(_try(pool, start, given, folder, video, port if live else None, vnc=vnc))
    )


@app.command(
    epilog="Examples:  deskhand sandbox mcp desktop   ·   "
    "deskhand sandbox mcp browser --task miniwob/click-test --port 8765"
)
def mcp(
    kind: Kind,
    task: Annotated[str, typer.Option(help="start state: a task of that kind")] = "",
    seed: Annotated[int, typer.Option(help="of the task")] = 1,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="serve over HTTP on this port of loopback")
    ] = None,
    set_: Set = None,
) -> None:
    """Lend a computer to another agent over MCP: on standard input and output, or over HTTP with a token."""
    pool = _computer(kind, set_)
    raise typer.Exit(run_until_signal(_serve(pool, _start(pool.kind, task, seed), port)))


@app.command(epilog="Example:  deskhand sandbox build vm")
def build(
    kind: Annotated[str, typer.Argument(help="what to build: vm")],
    again: Annotated[bool, typer.Option("--again", help="build it even where it is there")] = False,
) -> None:
    """Build the image that sandboxes of a kind are made from; only virtual machines need one."""
    if kind != "vm":
        raise UnknownName("image", kind, ("vm",))
    out.print(str(_build_image(again=again)))


def _build_image(*, again: bool = False) -> Path:
    """The golden image's disk, built with progress where there is none."""
    create_backend("vm")  # says what is not installed
    from deskhand_sandbox.backends.vm.image import build as build_image
    from deskhand_sandbox.backends.vm.image import find

    if not again and (found := find()) is not None:
        return found.disk
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=err) as shown:
        line = shown.add_task("building the image", total=1.0)
        image = build_image(
            lambda told: shown.update(line, completed=told.part, description=told.said), again=again
        )
        shown.update(line, completed=1.0, description="built")
    return image.disk


def _computer(name: str, set_: Sequence[str] | None) -> PoolSettings:
    """How the sandbox that is asked for is made: as the settings say, and the options.

    Raises:
        UnknownName: there is no such kind.
        InvalidPool: it refuses its settings.
    """
    given = overrides.parse(set_ or [], example="machine=attached")
    return load_settings().sandbox.lending.pool(name, given)


async def _serve(pool: PoolSettings, task: Task, port: int | None) -> int:
    try:
        from deskhand_sandbox.doors.loopback import serve_on_loopback
        from deskhand_sandbox.doors.mcp import mcp_server
    except ModuleNotFoundError as error:
        raise BackendMissing(f"MCP needs the module {error.name!r}: pip install 'deskhand[mcp]'") from error
    async with lender(pool) as lend:
        sandbox = await lend()
        await set_up(sandbox, task)
        if port is None:
            server = mcp_server(sandbox, another=lend)
            await server.run_async(transport="stdio", show_banner=False)
            return 0
        token = secrets.token_urlsafe(24)
        await serve_on_loopback(
            mcp_server(sandbox, another=lend, token=token).http_app(),
            port,
            lambda port: say(f"http://127.0.0.1:{port}/mcp with the header Authorization: Bearer {token}"),
        )
        return 0


@asynccontextmanager
async def _filmed(sandbox: Sandbox, video: Path | None) -> AsyncGenerator[Sandbox]:
    """The sandbox, each of whose screens goes into a video where one is asked for."""
    if video is None:
        yield sandbox
        return
    try:
        from deskhand_sandbox.doors.recording import recorded
    except ModuleNotFoundError as error:
        raise BackendMissing(
            f"a video needs the module {error.name!r}: pip install 'deskhand[video]'"
        ) from error
    async with recorded(sandbox, video) as filmed:
        yield filmed
    say(f"video: {video}")


@asynccontextmanager
async def _shown(sandbox: Sandbox, port: int | None) -> AsyncGenerator[Sandbox]:
    """The sandbox, shown in a page where one is asked for."""
    if port is None:
        yield sandbox
        return
    from deskhand_sandbox.doors.live import LiveView
    from deskhand_sandbox.doors.loopback import serve_on_loopback

    token = secrets.token_urlsafe(24)
    view = LiveView(sandbox, token=token)
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_on_loopback(view.app(), port, ready.set_result))
    try:
        await asyncio.wait([ready, serving], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        say(f"look on at http://127.0.0.1:{ready.result()}/?token={token}")
        yield view.sandbox
    finally:
        serving.cancel()
        await asyncio.wait([serving])


@asynccontextmanager
async def lender(pool: PoolSettings) -> AsyncGenerator[Callable[[], Awaitable[LeasedSandbox]]]:
    """Lends one sandbox at a time, by a manager as every other is; the one before is given back first."""
    told = load_settings().sandbox
    manager = SandboxManager({pool.kind: pool}, terms=told.terms, deadlines=told.deadlines)
    async with manager, AsyncExitStack() as lent:

        async def lend() -> LeasedSandbox:
            await lent.aclose()
            lease = manager.lease(pool.kind, owner="deskhand sandbox", wait_s=pool.create_s)
            return await lent.enter_async_context(lease)

        yield lend


@asynccontextmanager
async def _opened(pool: PoolSettings) -> AsyncGenerator[LeasedSandbox]:
    async with lender(pool) as lend:
        yield await lend()


def _start(kind: str, task_id: str, seed: int) -> Task:
    if not task_id:
        return Task(
            id=f"try/{kind}",
            environment=EnvironmentSpec(kind=kind, settings=STARTS.get(kind, {})),
            verifier=VerifierSpec(name="expression"),
            instruction="Look around.",
        )
    task = make_task(task_id, seed)
    if task.environment.kind != kind:
        raise InvalidField("task", f"{task_id} is for a {task.environment.kind} sandbox, not for a {kind}")
    return task


async def _try(
    pool: PoolSettings,
    task: Task,
    given: Sequence[tuple[str, Sequence[DeviceAction]]] | None,
    folder: Path,
    video: Path | None,
    port: int | None,
    *,
    vnc: bool,
) -> int:
    say(f"opening a {pool.kind} sandbox …")
    began = time.perf_counter()
    async with _opened(pool) as bare, _filmed(bare, video) as filmed, _shown(filmed, port) as sandbox:
        start = await set_up(sandbox, task)
        say(f"there after {time.perf_counter() - began:.1f} s; it can: {_abilities(sandbox)}")
        if vnc:
            address = await _vnc(bare)
            say(f"VNC: {address.host}:{address.port}, password {address.password}")
        out.print(start.instruction)
        if start.observation.terminal is not None:
            out.print(start.observation.terminal, highlight=False)
        out.print(_keep(start.observation, folder, 0))
        numbers = itertools.count(1)
        async for text, actions in _asked(given):
            try:
                for action in actions:
                    _tell(await sandbox.act(action), folder, next(numbers))
            except (InvalidAction, UnsupportedCapability) as error:
                if given is not None:
                    raise
                complain(f"{text}: {error}")
    return 0


async def _vnc(sandbox: LeasedSandbox) -> VncAddress:
    """
    Raises:
        UnsupportedCapability: this kind serves no VNC.
    """
    try:
        return await sandbox.open_vnc()
    except UnsupportedCapability as error:
        raise UnsupportedCapability(f"a {sandbox.kind} sandbox serves no VNC; desktop and vm do") from error


async def _asked(
    given: Sequence[tuple[str, Sequence[DeviceAction]]] | None,
) -> AsyncIterator[tuple[str, Sequence[DeviceAction]]]:
    """What was given, or line after line of the standard input."""
    if given is not None:
        for each in given:
            yield each
        return
    if sys.stdin.isatty():
        say("type an action, `help` for a list of them, an empty line to end")
    async for line in _lines():
        if line == "help":
            out.print(GRAMMAR)
            continue
        try:
            yield line, _read(line)
        except InvalidField as error:
            complain(str(error))


async def _lines() -> AsyncIterator[str]:
    """Lines of the standard input until it ends or one is empty; a wait for one can be cancelled."""
    if not (sys.stdin.isatty() or stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)):
        for line in sys.stdin.read().splitlines():  # a file: nothing is waited for
            yield line.strip()
        return
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while True:
            if sys.stdin.isatty():
                sys.stderr.write("> ")
                sys.stderr.flush()
            if not (line := (await reader.readline()).decode(errors="replace").strip()):
                return
            yield line
    finally:
        pipe.close()


def _read(text: str) -> list[DeviceAction]:
    """The actions of a line.

    Raises:
        InvalidField: it holds none, or one that no computer carries out.
    """
    try:
        actions: Sequence[Action] = parse_reply(text).actions
    except ActionSyntaxError as error:
        raise InvalidField("action", str(error)) from error
    found: list[DeviceAction] = []
    for action in actions:
        if isinstance(action, ControlAction):
            raise InvalidField("action", f"{type(action).__name__} is said to a task, not done on a computer")
        found.append(action)
    return found


def _tell(seen: Observation, folder: Path, number: int) -> None:
    if seen.output is not None:
        out.print(seen.output)
    elif seen.terminal is not None:
        out.print(seen.terminal, highlight=False)
    if seen.dialog is not None:
        out.print(f"a dialog waits: {seen.dialog}")
    still = "still" if seen.settled else "moving"
    out.print(f"{_keep(seen, folder, number)}  {still} after {seen.settled_ms:.0f} ms")


def _keep(seen: Observation, folder: Path, number: int) -> str:
    path = folder / f"{number:03d}.{seen.screenshot.format}"
    path.write_bytes(seen.screenshot.data or b"")
    return str(path)


def _abilities(sandbox: Sandbox) -> str:
    return ", ".join(sorted(sandbox.capabilities)) or "show its screen and take actions"
