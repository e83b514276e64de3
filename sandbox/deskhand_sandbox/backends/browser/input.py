"""Pointer and keyboard of one page; messages do not wait for one another where that is safe."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from itertools import pairwise

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload
from deskhand_sandbox.backends.browser.keys import KEYS, MODIFIERS, Key, find_key
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Button, KeyDown, KeyUp, Point, PointerUp, Press, TypeText

BUTTONS: dict[Button, int] = {"left": 1, "right": 2, "middle": 4}
"""Button -> its bit in `buttons`."""
DRAG_STEP_PX = 12
"""Longest stretch of a drag without a move event between."""
CLIPBOARD_KEYS = {"c", "x", "v", "insert", "delete"}
"""With Control, Meta or Shift they cut, copy and paste."""
TYPING_BATCH = 32
"""Characters sent before their answers are awaited."""


class PageInput:
    """What is held down, and the messages to change it."""

    def __init__(self) -> None:
        self.pointer: Point = (0, 0)
        self._buttons = 0
        self._held: dict[str, Key] = {}
        self._drag: Payload | None = None
        self._entered = False

    def drag_started(self, event: Payload) -> None:
        """Chromium wants to begin a drag of its own (HTML drag and drop), which we carry on."""
        self._drag = event["data"]

    @property
    def _modifiers(self) -> int:
        return sum(MODIFIERS.get(name, 0) for name in self._held)

    # ---- pointer

    async def click(self, page: CdpSession, at: Point, button: Button, count: int) -> None:
        """Move there, then press and release `count` times."""
        self.pointer = at
        sent: list[Awaitable[Payload]] = [self._mouse(page, "mouseMoved")]
        for turn in range(1, count + 1):
            self._buttons |= BUTTONS[button]
            sent.append(self._mouse(page, "mousePressed", button, turn))
            self._buttons &= ~BUTTONS[button]
            sent.append(self._mouse(page, "mouseReleased", button, turn))
        await asyncio.gather(*sent)

    async def move(self, page: CdpSession, to: Point) -> None:
        """Move the pointer, dragging what is held."""
        self.pointer = to
        if self._drag is None:
            await self._mouse(page, "mouseMoved")
        if self._drag is not None:
            if not self._entered:
                self._entered = True
                await self._drag_event(page, "dragEnter", self._drag)
            await self._drag_event(page, "dragOver", self._drag)

    async def press(self, page: CdpSession, button: Button) -> None:
        """Hold a button."""
        self._buttons |= BUTTONS[button]
        await self._mouse(page, "mousePressed", button, 1)

    async def release(self, page: CdpSession, button: Button) -> None:
        """Let go of a button, dropping what was dragged."""
        self._buttons &= ~BUTTONS[button]
        drag, self._drag, self._entered = self._drag, None, False
        if drag is None:
            await self._mouse(page, "mouseReleased", button, 1)
        else:
            await self._drag_event(page, "drop", drag)

    async def drag(self, page: CdpSession, path: Sequence[Point], button: Button) -> None:
        """Press at the first point, pass through the others, release at the last."""
        await self.move(page, path[0])
        try:
            await self.press(page, button)
            for start, end in pairwise(path):
                for point in _between(start, end):
                    # each must arrive as an event of its own: Chromium melts moves of one frame together
                    await self.move(page, point)
            await self.release(page, button)
        finally:
            # a dialog in between swallows what is left
            self._buttons &= ~BUTTONS[button]
            self._give_up_drag(page)

    async def wheel(self, page: CdpSession, at: Point, dx_px: int, dy_px: int) -> None:
        """Turn the wheel."""
        self.pointer = at
        await self._mouse(page, "mouseMoved")
        await self._mouse(page, "mouseWheel", deltaX=dx_px, deltaY=dy_px)

    def _mouse(
        self, page: CdpSession, kind: str, button: Button | None = None, count: int = 0, **more: float
    ) -> Awaitable[Payload]:
        x, y = self.pointer
        return page.send(
            "Input.dispatchMouseEvent",
            {
                "type": kind,
                "x": x,
                "y": y,
                # a move says which button is held: without it no drag begins
                "button": button
                or next((each for each, bit in BUTTONS.items() if self._buttons & bit), "none"),
                "buttons": self._buttons,
                "clickCount": count,
                "modifiers": self._modifiers,
                **more,
            },
        )

    def _give_up_drag(self, page: CdpSession) -> None:
        """End what a dialog broke off; the page, which takes no pointer before, hears of it after that."""
        drag, self._drag, self._entered = self._drag, None, False
        if drag is not None and not page.closed.is_set():
            self._drag_event(page, "dragCancel", drag)

    def _drag_event(self, page: CdpSession, kind: str, drag: Payload) -> Awaitable[Payload]:
        x, y = self.pointer
        return page.send(
            "Input.dispatchDragEvent",
            {"type": kind, "x": x, "y": y, "data": drag, "modifiers": self._modifiers},
        )

    # ---- keyboard

    async def type_text(self, page: CdpSession, text: str) -> None:
        """Type characters, as `typed_text` gives them, by their keys; those of no key are inserted."""
        sent: list[Awaitable[Payload]] = []
        for character in text:
            if character.isprintable() or character in "\n\t":
                key = find_key(character)
                if key.code:
                    sent += [self._key(page, key, down=True), self._key(page, key, down=False)]
                else:
                    sent.append(page.send("Input.insertText", {"text": character}))
            else:
                sent.append(page.send("Input.insertText", {"text": character}))
            if len(sent) >= TYPING_BATCH:
                await asyncio.gather(*sent)
                sent.clear()
        await asyncio.gather(*sent)

    async def press_keys(self, page: CdpSession, names: Sequence[str]) -> None:
        """Hold all in order, let go in reverse."""
        keys = [find_key(name) for name in names]
        try:
            for key in keys:
                await self._hold(page, key)
            for key in reversed(keys):
                await self._let_go(page, key)
        finally:
            # a dialog in between swallows what is left
            for key in keys:
                self._held.pop(key.key, None)

    async def key_down(self, page: CdpSession, name: str) -> None:
        """Hold a key."""
        await self._hold(page, find_key(name))

    async def key_up(self, page: CdpSession, name: str) -> None:
        """Let go of a held key."""
        key = find_key(name)
        if key.key not in self._held:
            raise InvalidAction(f"the key {name!r} is not held")
        await self._let_go(page, key)

    def commands_clipboard(self, action: TypeText | Press | KeyDown | KeyUp) -> bool:
        """Whether it may cut, copy or paste."""
        match action:
            case TypeText():
                pressed = set(action.text.casefold())
            case Press():
                pressed = {name.casefold() for name in action.keys}
            case KeyDown():
                pressed = {action.key.casefold()}
            case KeyUp():
                return False
        held = pressed.union(name.casefold() for name in self._held)
        return not held.isdisjoint(("control", "meta", "shift")) and not pressed.isdisjoint(CLIPBOARD_KEYS)

    async def let_go_of_all(self, page: CdpSession) -> None:
        """Nothing is held afterwards."""
        for key in list(self._held.values()):
            await self._let_go(page, key)
        for button, bit in BUTTONS.items():
            if self._buttons & bit:
                await self.release(page, button)
        self._drag, self._entered = None, False

    def forget(self, page: CdpSession, action: KeyUp | PointerUp) -> bool:
        """Let go of a key or button while a dialog keeps the page from hearing of it; whether it was held."""
        if isinstance(action, KeyUp):
            return self._held.pop(find_key(action.key).key, None) is not None
        held = self._buttons & BUTTONS[action.button]
        self._buttons &= ~held
        self._give_up_drag(page)
        return held > 0

    async def _hold(self, page: CdpSession, key: Key) -> None:
        self._held[key.key] = key
        await self._key(page, key, down=True)

    async def _let_go(self, page: CdpSession, key: Key) -> None:
        self._held.pop(key.key, None)
        await self._key(page, key, down=False)

    def _key(self, page: CdpSession, key: Key, *, down: bool) -> Awaitable[Payload]:
        modifiers = self._modifiers | (MODIFIERS["Shift"] if key.shifted else 0)
        if "Shift" in self._held and not key.shifted:
            key = _shifted(key)
        # with Control, Alt or Meta a key is a command and types nothing
        text = "" if modifiers & ~MODIFIERS["Shift"] else key.text
        kind = ("keyDown" if text else "rawKeyDown") if down else "keyUp"
        message: dict[str, object] = {
            "type": kind,
            "key": key.key,
            "code": key.code,
            "windowsVirtualKeyCode": key.number,
            "modifiers": modifiers,
        }
        if down and text:
            message |= {"text": text, "unmodifiedText": text}
        return page.send("Input.dispatchKeyEvent", message)


def _shifted(key: Key) -> Key:
    return next((each for each in KEYS.values() if each.code == key.code and each.shifted), key)


def _between(start: Point, end: Point) -> list[Point]:
    steps = max(2, -(-max(abs(end[0] - start[0]), abs(end[1] - start[1])) // DRAG_STEP_PX))
    return [
        (
            start[0] + round((end[0] - start[0]) * step / steps),
            start[1] + round((end[1] - start[1]) * step / steps),
        )
        for step in range(1, steps + 1)
    ]
