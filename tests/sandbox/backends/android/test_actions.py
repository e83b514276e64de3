from __future__ import annotations

from typing import Any, cast

import pytest

from deskhand_sandbox.backends.android.actions import Hand
from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import Device, ShellResult
from deskhand_sandbox.types import Click, Drag, MovePointer, PointerDown, PointerUp, Scroll


class Noting:
    """A device that notes the lines it is given, and obeys unless told otherwise."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.code = 0

    async def script(self, line: str, **_: Any) -> ShellResult:
        self.lines.append(line)
        return ShellResult(out=b"", err=b"", code=self.code)


@pytest.fixture
def device() -> Noting:
    return Noting()


@pytest.fixture
def hand(device: Noting) -> Hand:
    made = Hand(cast("Device", device), {})
    made.screen_px, made.input_px = (400, 800), (800, 1600)  # two pixels of `input` to one that is seen
    return made


@pytest.mark.parametrize(
    ("before", "place"),
    [
        (MovePointer(x=1, y=2), "3 5"),
        (Click(x=200, y=300), "401 601"),
        (Scroll(x=30, y=40, dy_px=10), "61 81"),
        (Drag(path=((1, 1), (5, 6), (7, 8))), "15 17"),
    ],
)
async def test_a_press_without_a_place_is_where_the_pointer_was_left(
    hand: Hand, device: Noting, before: MovePointer | Click | Scroll | Drag, place: str
) -> None:
    for action in (before, PointerDown(), PointerUp()):
        await hand.perform(action)
    assert device.lines[-2:] == [f"input motionevent DOWN {place}", f"input motionevent UP {place}"]


async def test_what_the_device_refused_moved_nothing(hand: Hand, device: Noting) -> None:
    await hand.perform(Click(x=10, y=20))
    device.code = 1
    with pytest.raises(DeviceError):
        await hand.perform(Click(x=200, y=300))
    device.code = 0
    await hand.perform(PointerDown())
    assert device.lines[-1] == "input motionevent DOWN 21 41"
