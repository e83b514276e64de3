"""A desktop as a sandbox: a session for each task."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deskhand_sandbox.backends.calls import Calls
from deskhand_sandbox.backends.desktop.actions import perform
from deskhand_sandbox.backends.desktop.session import Session
from deskhand_sandbox.backends.desktop.settings import DesktopSettings, ScreenSettings, screen_settings
from deskhand_sandbox.backends.desktop.stock import Stock
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.errors import InfrastructureError, InvalidTask
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.terminal.verdict import ANSWERS_S, COMMAND_S
from deskhand_sandbox.tools.program import Program
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task
from deskhand_sandbox.vnc import VncAddress


class DesktopSandbox(Sandbox):
    """See `Sandbox`. After SandboxDied or SandboxTimeout it is not to be used again."""

    kind = "desktop"
    capabilities = frozenset({Capability.RUN, Capability.EVALUATE, Capability.TEXT_TREE})

    def __init__(self, settings: DesktopSettings, stock: Stock) -> None:
        """
        Args:
            stock: where its sessions come from.
        """
        self.id = uuid.uuid4().hex
        self._settings = settings
        self._stock = stock
        self._screen = ScreenSettings()
        self._session: Session | None = None
        self._untouched = False
        """The session under way is as it was started."""
        self._calls = Calls()

    async def start(self) -> None:
        """Bring up a desktop of the size last asked for, for the first task that is content with it.

        Raises:
            SandboxDied, SandboxTimeout: it did not come up.
        """
        self._screen = replace(self._screen, size_px=self._stock.size_px or self._screen.size_px)
        async with self._calls.call("start", self._settings.reset_deadline_s):
            self._session = await self._stock.take(self._screen.size_px)
            self._untouched = True

    # ---- the contract

    async def reset(self, task: Task) -> Start:
        screen = screen_settings(task)
        if not task.instruction:
            raise InvalidTask(f"task {task.id} has no instruction")
        async with self._calls.call("reset", self._settings.reset_deadline_s + screen.ready_deadline_s):
            session = await self._fresh_session(screen.size_px)
            self._screen = screen
            if screen.network == "allow":
                await session.connect(loopback=self._settings.host_loopback)
            if screen.prepare is not None:
                await session.prepare(screen.prepare, seed=task.seed, timeout_s=screen.ready_deadline_s)
            await session.ask(
                "open",
                commands=[list(command) for command in screen.applications],
                deadline_s=screen.ready_deadline_s,
            )
            await session.ask("move", x=0, y=0)
            return Start(instruction=task.instruction, observation=await self._look())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        limit_s = self._settings.call_deadline_s
        async with self._calls.call(
            "observe", limit_s + (self._screen.text_tree_deadline_ms / 1000 if text_tree else 0)
        ):
            seen = await self._look()
            if not text_tree:
                return seen
            screen = self._screen
            tree = await self.session.text_tree(screen.text_tree_nodes, screen.text_tree_deadline_ms / 1000)
            return replace(seen, text_tree=tree)

    async def act(self, action: DeviceAction) -> Observation:
        async with self._calls.call(type(action).__name__, self._settings.call_deadline_s + asked_s(action)):
            output = await perform(self.session, action, self._screen.size_px)
            return replace(await self._look(), output=output)

    async def evaluate(self, expression: str) -> JsonValue:
        """A shell command's verdict, run beside the agent's programs and apart from its terminal.

        Returns:
            False at exit status 1, as `test` and `grep` mean it; else the output, as JSON where it is JSON,
            as text otherwise, and true where there is none.
        """
        limit_s = min(self._settings.call_deadline_s, COMMAND_S)
        async with self._calls.call("evaluate", limit_s + 2 * ANSWERS_S):
            return await self.session.evaluate(expression, timeout_s=limit_s)

    async def ping(self) -> None:
        async with self._calls.call("ping", self._settings.call_deadline_s):
            if self._session is not None:
                await self._session.ask("ping")

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> Program:
        """See `RunsPrograms`."""
        async with self._calls.call("start_program", self._settings.call_deadline_s):
            return await self.session.start_program(program, environment)

    async def open_vnc(self) -> VncAddress:
        """See `ServesVnc`."""
        async with self._calls.call("open_vnc", self._settings.call_deadline_s):
            return self.session.open_vnc()

    def alive(self) -> bool:
        return self._calls.usable and (self._session is None or not self._session.ended)

    async def close(self) -> None:
        await self._calls.close()
        await self._end_session()

    # ---- how

    @property
    def session(self) -> Session:
        """The session under way.

        Raises:
            InfrastructureError: there has been no reset.
        """
        if self._session is None or self._untouched:
            raise InfrastructureError("the desktop has not been reset to a task yet")
        return self._session

    async def _fresh_session(self, size_px: tuple[int, int]) -> Session:
        if self._session is None or not self._untouched or self._screen.size_px != size_px:
            await self._end_session()
            self._session = await self._stock.take(size_px)
        self._untouched = False
        return self._session

    async def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await self._stock.give_back(session)

    async def _look(self) -> Observation:
        screen, session = self._screen, self.session
        told, data = await session.ask(
            "look",
            deadline_ms=screen.settle_deadline_ms,
            still_ms=screen.still_ms,
            format=screen.image_format,
            quality=screen.image_quality,
        )
        return Observation(
            screenshot=as_image(data, screen.size_px, screen.image_format),
            captured_at_s=time.time(),
            settled_ms=float(str(told["settled_ms"])),
            settled=told["settled"] is True,
            terminal=session.terminal.screen(),
        )
