"""Carries out actions on a device, after checking that they can be."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from deskhand_sandbox.backends.action_checks import check_action
from deskhand_sandbox.backends.android import gestures
from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import COMMAND_S, Device
from deskhand_sandbox.backends.android.apps import open_app
from deskhand_sandbox.backends.android.keys import CODES, MODIFIERS, key_codes
from deskhand_sandbox.backends.android.terminal import DeviceTerminal
from deskhand_sandbox.backends.android.text_entry import Typing
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.dialects.pointing import pointer_after
from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.types import (
    Click,
    DeviceAction,
    Drag,
    EditFile,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    OpenApp,
    Point,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
    WriteFile,
)

BACK, HOME, FORWARD = 4, 3, 125


class Hand:
    """Fingers and keys of one device; a mouse's actions are done with a finger."""

    def __init__(self, device: Device, apps: Mapping[str, str]) -> None:
        self._device = device
        self._apps = apps
        self._typing = Typing(device)
        self.terminal = DeviceTerminal(device)
        self.screen_px: tuple[int, int] = (0, 0)
        """Width and height of the screenshot last taken."""
        self.input_px: tuple[int, int] = (0, 0)
        """What `input` takes the screen's size to be."""
        self.forget()

    def forget(self) -> None:
        """Nothing is held, and nothing known of the device."""
        self._pointer: Point = (0, 0)
        self._down = False
        self._held: list[str] = []
        self._typing.forget()

    async def perform(self, action: DeviceAction) -> str | None:
        """Carry out one action; what it returns to the agent, where it returns anything.

        Raises:
            InvalidAction: it cannot be as given; nothing was done.
            UnsupportedCapability: a device has no such thing.
            InfrastructureError: the device failed.
        """
        check_action(action, self.screen_px)
        match action:
            case Click() | Touch() | Swipe() | Drag() | Scroll():
                await self._touch(action)
            case MovePointer() | PointerDown() | PointerUp():
                await self._point(action)
            case TypeText(text=text):
                await self._typing.type(text)
            case Press() | KeyDown() | KeyUp():
                await self._keys(action)
            case Wait():
                await asyncio.sleep(action.seconds)
            case History(to=to):
                await self._history(to)
            case OpenApp(name=name):
                await open_app(self._device, name, self._apps)
            case Navigate(url=url):
                await self._open(url)
            case Run() | ReadFile() | WriteFile() | EditFile():
                return await self.terminal.perform(action)
            case _:
                raise UnsupportedCapability(f"an Android device has no {type(action).__name__}")
        return None

    async def _touch(self, action: Click | Touch | Swipe | Drag | Scroll) -> None:
        limit_s = COMMAND_S + asked_s(action) + gestures.takes_s(action)
        match self._as_input(action):
            case Click() as click:
                lines = gestures.click_lines(click)
            case Touch() as touch:
                lines = gestures.touch_lines(touch)
            case Swipe() as swipe:
                lines = gestures.swipe_lines(swipe)
            case Drag() as drag:
                lines = gestures.drag_lines(drag)
            case Scroll() as scroll:
                lines = gestures.scroll_lines(scroll, self.input_px)
        await self._run(lines, limit_s)
        self._pointer = pointer_after((action,)) or self._pointer

    async def _run(self, lines: list[str], limit_s: float = COMMAND_S) -> None:
        if not lines:
            return
        result = await self._device.script("; ".join(lines), limit_s=limit_s)
        if result.code:
            raise DeviceError(
                f"the device refused {lines[0]!r}: {result.err.decode(errors='replace').strip()}"
            )

    async def _point(self, action: MovePointer | PointerDown | PointerUp) -> None:
        match action:
            case MovePointer(x=x, y=y):
                self._pointer = (x, y)
                if self._down:
                    await self._run([gestures.finger_line("MOVE", self._scaled(self._pointer))])
            case PointerDown():
                self._down = True
                await self._run([gestures.finger_line("DOWN", self._scaled(self._pointer))])
            case PointerUp():
                self._down = False
                await self._run([gestures.finger_line("UP", self._scaled(self._pointer))])

    async def _keys(self, action: Press | KeyDown | KeyUp) -> None:
        match action:
            case Press(keys=keys):
                codes = list(dict.fromkeys(code for name in (*self._held, *keys) for code in key_codes(name)))
                verb = "keyevent" if len(codes) == 1 else "keycombination"
                await self._run([f"input {verb} {' '.join(map(str, codes))}"])
            case KeyDown(key=name):
                if name not in CODES:
                    key_codes(name)
                if name not in MODIFIERS:
                    raise UnsupportedCapability(
                        f"an Android device can hold {', '.join(MODIFIERS)}, not {name!r}"
                    )
                self._held.append(name)
            case KeyUp(key=name):
                if name not in self._held:
                    raise InvalidAction(f"the key {name!r} is not held")
                self._held.remove(name)

    async def _history(self, to: str) -> None:
        codes = {"back": BACK, "home": HOME, "forward": FORWARD}
        if to not in codes:
            raise UnsupportedCapability(f"an Android device has no button {to!r}")
        await self._run([f"input keyevent {codes[to]}"])

    async def _open(self, url: str) -> None:
        result = await self._device.shell("am", "start", "-a", "android.intent.action.VIEW", "-d", url)
        said = (result.out + result.err).decode(errors="replace")
        if result.code or "Error" in said:
            raise InvalidAction(f"no app on this device opens {url!r}")

    def _scaled(self, point: Point) -> Point:
        return gestures.scaled(point, self.screen_px, self.input_px)

    def _as_input(
        self, action: Click | Touch | Swipe | Drag | Scroll
    ) -> Click | Touch | Swipe | Drag | Scroll:
        """The action with its points checked, and as `input` counts."""
        if isinstance(action, Swipe | Drag):
            if len(action.path) < 2:
                raise InvalidAction(f"a swipe needs at least two points, not {len(action.path)}")
            for x, y in action.path:
                check_action(MovePointer(x=x, y=y), self.screen_px)
            return replace(action, path=tuple(map(self._scaled, action.path)))
        check_action(MovePointer(x=action.x, y=action.y), self.screen_px)
        x, y = self._scaled((action.x, action.y))
        if isinstance(action, Scroll):
            (dx, dy), origin = self._scaled((abs(action.dx_px), abs(action.dy_px))), self._scaled((0, 0))
            dx, dy = dx - origin[0], dy - origin[1]
            return replace(
                action, x=x, y=y, dx_px=dx if action.dx_px > 0 else -dx, dy_px=dy if action.dy_px > 0 else -dy
            )
        return replace(action, x=x, y=y)
