"""Carries out actions on a desktop, after checking that they can be."""

from __future__ import annotations

import asyncio

from deskhand_sandbox.backends.action_checks import check_action, typed_text, wheel_turns
from deskhand_sandbox.backends.desktop.keys import desktop_key
from deskhand_sandbox.backends.desktop.session import Session
from deskhand_sandbox.errors import UnsupportedCapability
from deskhand_sandbox.types import (
    Click,
    DeviceAction,
    Drag,
    EditFile,
    KeyDown,
    KeyUp,
    MovePointer,
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


async def perform(session: Session, action: DeviceAction, size_px: tuple[int, int]) -> str | None:
    """Carry out one action; what it returns to the agent, where it returns anything.

    Raises:
        InvalidAction: it cannot be as given; nothing was done.
        UnsupportedCapability: a desktop has no such thing.
        InfrastructureError: the session failed.
    """
    check_action(action, size_px)
    match action:
        case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll():
            await _point(session, action)
        case TypeText() | Press() | KeyDown() | KeyUp():
            await _type(session, action)
        case Wait():
            await asyncio.sleep(action.seconds)
        case Run() | ReadFile() | WriteFile() | EditFile():
            return await session.terminal.perform(action)
        case _:
            raise UnsupportedCapability(f"a desktop has no {type(action).__name__}")
    return None


async def _point(
    session: Session,
    action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll,
) -> None:
    match action:
        case Click():
            await session.ask("click", x=action.x, y=action.y, button=action.button, count=action.count)
        case MovePointer():
            await session.ask("move", x=action.x, y=action.y)
        case PointerDown():
            await session.ask("press", button=action.button)
        case PointerUp():
            await session.ask("release", button=action.button)
        case Drag():
            await session.ask("drag", path=[[x, y] for x, y in action.path], button=action.button)
        case Scroll():
            right, down = wheel_turns(action.dx_px), wheel_turns(action.dy_px)
            await session.ask("scroll", x=action.x, y=action.y, right=right, down=down)


async def _type(session: Session, action: TypeText | Press | KeyDown | KeyUp) -> None:
    match action:
        case TypeText():
            await session.ask("type", text=typed_text(action.text))
        case Press():
            names = [desktop_key(name) for name in action.keys]
            await session.ask("keys", down=list(names), up=list(reversed(names)))
        case KeyDown():
            await session.ask("keys", down=[desktop_key(action.key)], up=[])
        case KeyUp():
            await session.ask("keys", down=[], up=[desktop_key(action.key)])
