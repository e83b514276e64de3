"""A sandbox host over a backend of a few lines, as somebody with a backend of their own would start one.

The backend's sandboxes obey orders: an action of type `Run` says what goes wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Mapping

from deskhand_sandbox.base import Backend, Capability, Sandbox
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    SandboxDied,
    UnknownName,
    VerifierError,
)
from deskhand_sandbox.host.__main__ import main
from deskhand_sandbox.types import DeviceAction, Image, JsonValue, Observation, Run, Start, Task, TypeText

PICTURE = bytes(range(256)) * 120
"""About the size of a JPEG of a page."""


class TinySandbox(Sandbox):
    """Remembers what was typed; `Run` gives it orders: die, hang, crash, wrong, browser."""

    kind = "tiny"
    capabilities = frozenset({Capability.EVALUATE, Capability.SNAPSHOT, Capability.FORK})
    numbers = itertools.count(1)

    def __init__(self, backend: TinyBackend) -> None:
        self.id = f"tiny-{next(self.numbers)}"
        self.backend = backend
        self.text = ""
        self.kept: list[str] = []
        self.dead = False
        self.closed = 0
        self.acting = False
        self.acted = asyncio.Event()
        """Set: what hangs goes on."""

    async def reset(self, task: Task) -> Start:
        self._check()
        self.text = ""
        return Start(instruction=task.instruction or "Type.", observation=self.see())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        self._check()
        return self.see(tree="root" if text_tree else None)

    async def act(self, action: DeviceAction) -> Observation:
        self._check()
        match action:
            case TypeText():
                self.text += action.text
            case Run(command="die"):
                self.dead = True
            case Run(command="die quietly"):
                self.dead = True
                return self.see()
            case Run(command="browser dies"):
                self.backend.gone = True
            case Run(command="hang"):
                self.acting = True
                await self.acted.wait()
            case Run(command="crash"):
                raise KeyError("a bug in a backend")
            case _:
                raise InvalidAction("a tiny sandbox only takes text")
        self._check()
        return self.see()

    async def evaluate(self, expression: str) -> JsonValue:
        self._check()
        if expression == "wrong":
            raise VerifierError("the expression failed")
        return {"text": self.text, "expression": expression}

    async def snapshot(self) -> str:
        self.kept.append(self.text)
        return str(len(self.kept) - 1)

    async def restore(self, snapshot_id: str) -> Observation:
        self.text = self.kept[int(snapshot_id)]
        return self.see()

    async def fork(self, n: int) -> list[Sandbox]:
        forks: list[Sandbox] = []
        for _ in range(n):
            fork = TinySandbox(self.backend)
            fork.text = self.text
            self.backend.made.append(fork)
            forks.append(fork)
        return forks

    def alive(self) -> bool:
        return not self.dead and not self.backend.gone

    async def close(self) -> None:
        self.closed += 1
        self.dead = True

    def see(self, tree: str | None = None) -> Observation:
        image = Image(digest="0" * 64, format="jpeg", width_px=160, height_px=210, data=PICTURE)
        return Observation(
            screenshot=image, captured_at_s=time.time(), settled_ms=0.0, output=self.text, text_tree=tree
        )

    def _check(self) -> None:
        if not self.alive():
            raise SandboxDied(f"{self.id} is dead")


class TinyBackend(Backend):
    """Sandboxes that share a "browser": nothing, or a real process when the settings ask for one."""

    kind = "tiny"

    def __init__(self, *, process: bool = False, fails: int = 0, slow: asyncio.Event | None = None) -> None:
        self.made: list[TinySandbox] = []
        self.gone = False
        self.closed = 0
        self.fails = fails
        self.slow = slow
        self.browser = subprocess.Popen(["sleep", "1000"], start_new_session=True) if process else None

    async def create(self) -> TinySandbox:
        if self.slow is not None:
            await self.slow.wait()
        if self.fails:
            self.fails -= 1
            raise InfrastructureError("no sandbox today")
        if self.gone:
            raise SandboxDied("the browser is gone")
        sandbox = TinySandbox(self)
        self.made.append(sandbox)
        return sandbox

    def alive(self) -> bool:
        return not self.gone

    async def close(self) -> None:
        self.closed += 1
        self.gone = True
        if self.browser is not None:
            self.browser.kill()
            self.browser.wait()


def make_backend(kind: str, settings: Mapping[str, JsonValue]) -> Backend:
    if kind != "tiny":
        raise UnknownName("kind", kind, ["tiny"])
    return TinyBackend(process=settings.get("process") is True)


if __name__ == "__main__":
    if os.environ.get("TINY_HOST_FAILS"):
        sys.exit("it was told to fail")
    sys.exit(main(make_backend=make_backend))
