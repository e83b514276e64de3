"""The fake computer itself."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from collections.abc import Mapping

from deskhand_sandbox.backends.action_checks import check_action
from deskhand_sandbox.backends.fake.screen import FakeSettings, FakeState, button_boxes, draw, fake_settings
from deskhand_sandbox.backends.in_process import InProcessBackend
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import (
    InvalidTask,
    SandboxDied,
    UnknownName,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.types import (
    Click,
    DeviceAction,
    Drag,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Observation,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Start,
    Task,
    TypeText,
    Wait,
)


class FakeBackend(InProcessBackend["FakeSandbox"]):
    """Makes fake computers; its settings are defaults for those of their tasks."""

    kind = "fake"

    def __init__(self, defaults: Mapping[str, object]) -> None:
        super().__init__()
        fake_settings("the fake backend", defaults)
        self._defaults = dict(defaults)

    def make(self) -> FakeSandbox:
        return FakeSandbox(self._defaults)


class FakeSandbox(Sandbox):
    """See `Sandbox`. Its settle time is always 0."""

    kind = "fake"
    capabilities = frozenset(
        {Capability.EVALUATE, Capability.TEXT_TREE, Capability.SNAPSHOT, Capability.FORK}
    )

    def __init__(self, defaults: Mapping[str, object]) -> None:
        self.id = uuid.uuid4().hex
        self._defaults = defaults
        self._task = FakeSettings()
        self._state = FakeState()
        self._acts = 0
        self._dead = False
        self._kept: dict[str, tuple[FakeSettings, FakeState, int]] = {}

    async def reset(self, task: Task) -> Start:
        self._alive()
        if task.environment.kind != self.kind:
            raise InvalidTask(f"task {task.id} is for a {task.environment.kind} sandbox, not for a fake one")
        settings = fake_settings(task.id, self._defaults, task.environment.settings)
        if settings.fail_reset:
            self._die("died while it was reset, as its task says")
        self._task, self._state, self._acts, self._kept = settings, FakeState(), 0, {}
        instruction = task.instruction or f"Press {', then '.join(settings.goal)}."
        return Start(instruction=instruction, observation=await self.observe())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        self._alive()
        return Observation(
            screenshot=draw(self._task, self._state),
            captured_at_s=time.time(),
            settled_ms=0.0,
            text_tree="\n".join(f'- button "{label}"' for label in self._task.buttons) if text_tree else None,
        )

    async def act(self, action: DeviceAction) -> Observation:
        self._alive()
        after = self._after(action)
        number, self._acts = self._acts, self._acts + 1
        if number == self._task.crash_at:
            self._die(f"died in act {number}, as its task says")
        if number == self._task.hang_at:
            await asyncio.Event().wait()
        delay_s = self._task.slow_s if number == self._task.slow_at else self._task.delay_s
        if isinstance(action, Wait):
            delay_s += action.seconds
        if delay_s > 0:
            await asyncio.sleep(delay_s)
        self._alive()
        self._state = after
        return await self.observe()

    async def evaluate(self, expression: str) -> JsonValue:
        """`done`, `success`, `pressed`, `text`, `acts`, `buttons` (label -> box) by name."""
        self._alive()
        values: dict[str, JsonValue] = {
            "done": self._state.done(self._task),
            "success": self._state.success(self._task),
            "pressed": list(self._state.pressed),
            "text": self._state.text,
            "acts": self._acts,
            "buttons": {label: list(box) for label, box in button_boxes(self._task).items()},
        }
        if expression not in values:
            raise VerifierError(str(UnknownName("value of the fake sandbox", expression, values)))
        return values[expression]

    async def snapshot(self) -> str:
        self._alive()
        name = uuid.uuid4().hex
        self._kept[name] = (self._task, self._state, self._acts)
        return name

    async def restore(self, snapshot_id: str) -> Observation:
        self._alive()
        if snapshot_id not in self._kept:
            raise UnknownName("snapshot", snapshot_id, self._kept)
        self._task, self._state, self._acts = self._kept[snapshot_id]
        return await self.observe()

    async def forget(self, snapshot_id: str) -> None:
        self._alive()
        self._kept.pop(snapshot_id, None)

    async def fork(self, n: int) -> list[Sandbox]:
        self._alive()
        copies: list[Sandbox] = []
        for _ in range(n):
            copy = FakeSandbox(self._defaults)
            copy._task, copy._state, copy._acts = self._task, self._state, self._acts
            copies.append(copy)
        return copies

    async def close(self) -> None:
        self._dead = True

    def _after(self, action: DeviceAction) -> FakeState:
        """The state after an action, without carrying it out.

        Raises:
            InvalidAction, UnsupportedCapability: it cannot be.
        """
        check_action(action, (self._task.width_px, self._task.height_px))
        state = self._state
        match action:
            case Click():
                for _ in range(action.count):
                    state = state.press(action.x, action.y, self._task)
                return state
            case PointerDown():
                return state.press(*state.pointer, self._task)
            case MovePointer() | Scroll():
                return dataclasses.replace(state, pointer=(action.x, action.y))
            case Drag():
                return dataclasses.replace(state, pointer=action.path[-1])
            case TypeText():
                return dataclasses.replace(state, text=state.text + action.text)
            case PointerUp() | Press() | KeyDown() | KeyUp() | Wait():
                return state
            case _:
                raise UnsupportedCapability(f"the fake sandbox has no {type(action).__name__}")

    def _die(self, why: str) -> None:
        self._dead = True
        raise SandboxDied(f"the fake sandbox {why}")

    def _alive(self) -> None:
        if self._dead:
            raise SandboxDied("the fake sandbox is dead or closed")
