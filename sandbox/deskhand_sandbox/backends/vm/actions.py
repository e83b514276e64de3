"""Carries out actions on a VM, after checking that they can be: pointer and keys by QEMU, the rest inside."""

from __future__ import annotations

import asyncio
import itertools

from deskhand_sandbox.backends.action_checks import check_action, typed_text, wheel_turns
from deskhand_sandbox.backends.vm.eye import Eye
from deskhand_sandbox.backends.vm.guest_terminal import GuestTerminal
from deskhand_sandbox.backends.vm.keys import CHARACTERS, qemu_keys
from deskhand_sandbox.backends.vm.machine import Machine
from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.types import (
    Button,
    Click,
    DeviceAction,
    Drag,
    EditFile,
    KeyDown,
    KeyUp,
    MovePointer,
    Point,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    TypeText,
    Wait,
    WriteFile,
)

AXIS_STEPS = 0x8000
"""Positions of QEMU's absolute pointer on each axis."""
DRAG_STEPS = 8
"""Pointer events between two points of a drag: programs take a single jump for no drag at all."""
PACE_S = 0.02
"""Between two keys or points of a drag: a keyboard's buffer is short, and nothing tells when it is read."""

Event = dict[str, object]


class Hands:
    """Pointer and keyboard of one VM."""

    def __init__(self, machine: Machine, eye: Eye, terminal: GuestTerminal | None) -> None:
        """
        Args:
            terminal: None where no agent answers in the guest.
        """
        self._machine = machine
        self._eye = eye
        self._terminal = terminal

    async def perform(self, action: DeviceAction, size_px: tuple[int, int]) -> str | None:
        """Carry out one action; what it returns to the agent, where it returns anything.

        Raises:
            InvalidAction: it cannot be as given; nothing was done.
            UnsupportedCapability: this VM has no such thing.
            InfrastructureError: the VM failed.
        """
        check_action(action, size_px)
        match action:
            case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll():
                await self._point(action, size_px)
            case TypeText():
                await self._type(action.text)
            case Press():
                await self._press(action.keys, action.keys)
            case KeyDown():
                await self._press((action.key,), ())
            case KeyUp():
                await self._press((), (action.key,))
            case Wait():
                await asyncio.sleep(action.seconds)
            case Run() | ReadFile() | WriteFile() | EditFile() if self._terminal is not None:
                return await self._terminal.perform(action)
            case _:
                raise UnsupportedCapability(f"this VM has no {type(action).__name__}")
        return None

    async def rest(self) -> None:
        """Put the pointer into the corner."""
        whole = AXIS_STEPS, AXIS_STEPS
        # a guest that has not heard of the pointer takes it to be there already
        await self._machine.send(*_at((AXIS_STEPS // 2, AXIS_STEPS // 2), whole))
        await self._machine.send(*_at((0, 0), whole))

    # ---- pointer

    async def _point(
        self,
        action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll,
        size_px: tuple[int, int],
    ) -> None:
        send = self._machine.send
        match action:
            case Click():
                await send(*_at((action.x, action.y), size_px))
                for _ in range(action.count):
                    await send(_button(action.button, down=True))
                    await send(_button(action.button, down=False))
            case MovePointer():
                await send(*_at((action.x, action.y), size_px))
            case PointerDown():
                await send(_button(action.button, down=True))
            case PointerUp():
                await send(_button(action.button, down=False))
            case Drag():
                await self._drag(action, size_px)
            case Scroll():
                await self._scroll(action, size_px)

    async def _drag(self, action: Drag, size_px: tuple[int, int]) -> None:
        send = self._machine.send
        await send(*_at(action.path[0], size_px))
        await send(_button(action.button, down=True))
        for (x0, y0), (x1, y1) in itertools.pairwise(action.path):
            for step in range(1, DRAG_STEPS + 1):
                between = x0 + (x1 - x0) * step // DRAG_STEPS, y0 + (y1 - y0) * step // DRAG_STEPS
                await send(*_at(between, size_px))
                await asyncio.sleep(PACE_S)
        await send(_button(action.button, down=False))

    async def _scroll(self, action: Scroll, size_px: tuple[int, int]) -> None:
        if action.dx_px and self._terminal is None:
            raise InvalidAction("the wheel of a VM without an agent turns up and down only")
        await self._machine.send(*_at((action.x, action.y), size_px))
        down = wheel_turns(action.dy_px)
        for _ in range(abs(down)):
            for pressed in (True, False):
                await self._machine.send(_button("wheel-down" if down > 0 else "wheel-up", down=pressed))
        if action.dx_px and self._terminal is not None:
            await self._terminal.channel.ask("scroll_sideways", right=wheel_turns(action.dx_px))

    # ---- keyboard

    async def _press(self, down: tuple[str, ...], up: tuple[str, ...]) -> None:
        """Hold keys in that order, and let go of them in reverse."""
        names = tuple(dict.fromkeys((*down, *up)))
        known = {name: qemu_keys(name) for name in names}
        strange = [name for name, keys in known.items() if keys is None]
        if strange:
            await self._press_strange(strange[0], names, down, up)
            return
        held = [key for name in down for key in known[name] or ()]
        let = [key for name in up for key in known[name] or ()]
        # together: a key that is held for long on a busy machine would type again and again
        await self._machine.send(
            *(_key(key, down=True) for key in dict.fromkeys(held)),
            *(_key(key, down=False) for key in reversed(dict.fromkeys(let))),
        )

    async def _press_strange(
        self, name: str, names: tuple[str, ...], down: tuple[str, ...], up: tuple[str, ...]
    ) -> None:
        """A character no keyboard has: the guest's agent presses it, alone."""
        if self._terminal is None or len(names) > 1:
            raise InvalidAction(
                f"{name!r} is on no key of this VM's keyboard; with an agent inside it can be pressed, alone"
            )
        await self._terminal.channel.ask("keys", down=list(down), up=list(up))

    async def _type(self, text: str) -> None:
        text = typed_text(text)
        if self._terminal is not None:
            await self._type_inside(self._terminal, text)
            return
        strange = [c for c in text if c not in CHARACTERS]
        if strange:
            raise InvalidAction(
                f"{strange[0]!r} is on no key of this VM's keyboard, and no agent in the guest could type it"
            )
        for character in text:
            await self._press((character,), (character,))
            await asyncio.sleep(PACE_S)

    async def _type_inside(self, terminal: GuestTerminal, text: str) -> None:
        """By the guest's agent; where it runs out of spare keys, once programs have read what they typed."""
        while text:
            before = await self._eye.frame()
            told = await terminal.channel.ask("type", text=text, fresh=True, takes_s=len(text) * PACE_S)
            text = text[int(str(told["typed"])) :]
            if text:
                await self._eye.changed_and_still(before)


def axis_value(pixel: int, side_px: int) -> int:
    """Where QEMU's pointer stands in the middle of a pixel, on an axis of AXIS_STEPS positions."""
    return (2 * pixel + 1) * AXIS_STEPS // (2 * side_px)


def _at(point: Point, size_px: tuple[int, int]) -> tuple[Event, Event]:
    x, y = (axis_value(pixel, side) for pixel, side in zip(point, size_px, strict=True))
    return (
        {"type": "abs", "data": {"axis": "x", "value": x}},
        {"type": "abs", "data": {"axis": "y", "value": y}},
    )


def _button(button: Button | str, *, down: bool) -> Event:
    return {"type": "btn", "data": {"button": button, "down": down}}


def _key(key: str, *, down: bool) -> Event:
    return {"type": "key", "data": {"key": {"type": "qcode", "data": key}, "down": down}}
