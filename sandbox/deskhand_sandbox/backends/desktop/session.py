"""One screen and everything that runs on it, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import py_compile
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import deskhand_sandbox.accessibility
from deskhand_sandbox.backends.desktop.vnc import VncServer
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation import Confinement, Limits
from deskhand_sandbox.isolation.network import WayOut
from deskhand_sandbox.terminal.confined import ConfinedTerminal
from deskhand_sandbox.terminal.verdict import ANSWERS_S, check_command, check_prepared, ended, verdict
from deskhand_sandbox.tools.program import ConfinedProgram
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.vnc import VncAddress

TREE = Path(deskhand_sandbox.accessibility.__file__).with_name("atspi_tree.py")
SYSTEM_PYTHON = "/usr/bin/python3"
"""The one that the system's bindings of AT-SPI are for."""
TREE_STARTS_S = 10.0
TREE_ANSWER_S = 1.0
HAND = Path(__file__).with_name("hand.py")
PYTHON = "/opt/deskhand"
"""Where this Python's packages are found inside."""


class Session:
    """Made by `Session.start`; nothing of one session reaches another."""

    def __init__(self, confinement: Confinement, process: asyncio.subprocess.Process) -> None:
        self._confinement = confinement
        self._process = process
        self.terminal = ConfinedTerminal(confinement)
        self._way_out: WayOut | None = None
        self._vnc: VncServer | None = None
        self._turn = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, size_px: tuple[int, int], limits: Limits) -> Session:
        """A screen with a window manager and nothing else on it.

        Raises:
            SandboxDied: it did not start; says why.
        """
        confinement = Confinement(Path(tempfile.mkdtemp(prefix="deskhand-desktop-")), limits)
        try:
            confinement.prepare()
            python, shown = _python()
            hand = confinement.folder / HAND.with_suffix(".pyc").name
            hand.write_bytes(_compiled())
            place = f"/opt/{hand.name}"
            width, height = size_px
            process = await confinement.lead(
                python, "-I", place, str(width), str(height), shown={**shown, hand: place}
            )
            session = cls(confinement, process)
        except BaseException:
            await asyncio.to_thread(confinement.remove)
            raise
        try:
            told, _ = await session._answer("the desktop")
            confinement.variables.update({name: str(value) for name, value in told.items()})
        except BaseException:
            await session.close()
            raise
        return session

    @property
    def ended(self) -> bool:
        """The screen is gone."""
        return self._process.returncode is not None

    @property
    def pid(self) -> int:
        """The process all others of the session die with."""
        return self._process.pid

    @property
    def folder(self) -> Path:
        """Where its files lie on this machine."""
        return self._confinement.folder

    async def ask(self, do: str, **arguments: JsonValue) -> tuple[dict[str, JsonValue], bytes]:
        """Have the hand do something (see `Hand`); what it told, and its bytes.

        Raises:
            SandboxDied: the session is gone.
            InfrastructureError: it could not be done.
        """
        # the answer is awaited even where nobody wants it any more: the next one comes after it
        exchange = asyncio.create_task(self._exchange(do, arguments), name=f"{do} on a desktop")
        exchange.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(exchange)

    async def connect(self, *, loopback: bool) -> None:
        """Give the programs a network (see `WayOut`)."""
        self._way_out = await WayOut.open(self._confinement, loopback=loopback)

    def open_vnc(self) -> VncAddress:
        """Where the screen is served by VNC, from now on.

        Raises:
            BackendMissing: x11vnc is not installed.
            InfrastructureError: this machine gives no port.
        """
        if self._vnc is None:
            self._vnc = VncServer.open(self._confinement)
        return self._vnc.address

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> ConfinedProgram:
        """See `RunsPrograms.start_program`."""
        return await ConfinedProgram.start(self._confinement, program, environment)

    async def prepare(self, script: str, *, seed: int, timeout_s: float) -> None:
        """Run a shell script in the home.

        Raises:
            InvalidTask: it failed, or is too long; says what it complained of.
            InfrastructureError: it took too long, it was killed, or the session is gone.
        """
        check_command(script)
        program = ("env", f"SEED={seed}", "bash", "-c", script)
        check_prepared("the desktop", *await self._confinement.run(program, timeout_s=timeout_s))

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """See `DesktopSandbox.evaluate`.

        Raises:
            VerifierError: another exit status than 0 and 1.
            CommandHung: it did not end in time.
            InvalidTask: it is too long.
        """
        check_command(command)
        run = self._confinement.run
        code, out, err = await ended(
            run(("bash", "-c", command), timeout_s=timeout_s),
            lambda: run(("true",), timeout_s=ANSWERS_S),
        )
        return verdict(code, out, err)

    async def text_tree(self, nodes: int, timeout_s: float) -> str:
        """What the programs say is on their windows, by AT-SPI.

        Args:
            nodes: most lines.
            timeout_s: after which the rest is left out.

        Raises:
            InfrastructureError: nobody can be asked.
        """
        program = (SYSTEM_PYTHON, "-", str(nodes), str(timeout_s), str(TREE_ANSWER_S))
        limit_s = timeout_s + TREE_STARTS_S
        try:
            code, out, err = await self._confinement.run(program, given=TREE.read_bytes(), timeout_s=limit_s)
        except SandboxTimeout as error:  # the bus stands still, the desktop need not
            raise InfrastructureError(f"no accessibility tree: nobody answered in {limit_s:g} s") from error
        if code:
            said = (err.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
            raise InfrastructureError(f"no accessibility tree: {said}")
        return out.decode(errors="replace").rstrip("\n")

    async def close(self) -> None:
        """End everything of the session and take its files away; safe to call twice.

        It is done to its end, even where the caller does not wait for that.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name="end a desktop")
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, self._confinement.remove)
            stack.push_async_callback(self.terminal.reset)
            stack.push_async_callback(self._process.wait)
            stack.push_async_callback(asyncio.to_thread, self._confinement.end)
            for served in (self._vnc, self._way_out):
                if served is not None:
                    stack.push_async_callback(served.close)

    async def _exchange(
        self, do: str, arguments: Mapping[str, JsonValue]
    ) -> tuple[dict[str, JsonValue], bytes]:
        assert self._process.stdin is not None
        async with self._turn:
            with contextlib.suppress(ConnectionError):
                self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
                await self._process.stdin.drain()
            return await self._answer(do)

    async def _answer(self, what: str) -> tuple[dict[str, JsonValue], bytes]:
        out = self._process.stdout
        assert out is not None
        try:
            told: dict[str, JsonValue] = json.loads(await out.readuntil(b"\n"))
            data = await out.readexactly(int(str(told.pop("bytes"))))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError) as error:
            said = self._confinement.complaint()
            raise SandboxDied(f"the desktop has ended{f': {said}' if said else ''}") from error
        if "error" in told:
            raise InfrastructureError(f"{what} failed on the desktop: {told['error']}")
        return told, data


@functools.cache
def _compiled() -> bytes:
    """The hand as this Python runs it fastest: it is not compiled for each desktop anew."""
    with tempfile.TemporaryDirectory(prefix="deskhand-") as folder:
        path = py_compile.compile(str(HAND), f"{folder}/hand.pyc", dfile=str(HAND), doraise=True)
        assert path is not None
        return Path(path).read_bytes()


def _python() -> tuple[str, dict[Path, str]]:
    """This Python as it is found inside, and what has to be shown for that."""
    shown: dict[Path, str] = {}
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        shown[Path(sys.base_prefix)] = sys.base_prefix
    if sys.prefix == sys.base_prefix:
        return sys.executable, shown
    shown[Path(sys.prefix)] = PYTHON
    return f"{PYTHON}/bin/python", shown
