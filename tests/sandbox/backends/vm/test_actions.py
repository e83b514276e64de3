from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.backends.action_checks import MAX_NOTCHES
from deskhand_sandbox.backends.vm.actions import AXIS_STEPS, Hands, axis_value
from deskhand_sandbox.backends.vm.eye import Eye
from deskhand_sandbox.backends.vm.machine import Machine
from deskhand_sandbox.types import Scroll


@given(side=st.integers(64, 8192), share=st.floats(0, 1, exclude_max=True))
def test_a_pointer_lands_on_the_pixel_it_was_sent_to(side: int, share: float) -> None:
    pixel = int(share * side)
    value = axis_value(pixel, side)
    assert 0 <= value < AXIS_STEPS
    # as X servers scale an axis of 0…32767 to a screen
    assert value * side // AXIS_STEPS == pixel


class Sent:
    """A machine that only remembers what it was sent."""

    def __init__(self) -> None:
        self.events: list[dict[str, object]] = []

    async def send(self, *events: dict[str, object]) -> None:
        self.events += events


async def test_a_far_scroll_ends_with_the_wheel_s_last_turn() -> None:
    machine = Sent()
    hands = Hands(cast(Machine, machine), cast(Eye, None), None)
    await hands.perform(Scroll(x=5, y=5, dy_px=10**6), (300, 200))
    turn = {"type": "btn", "data": {"button": "wheel-down", "down": True}}
    assert machine.events.count(turn) == MAX_NOTCHES
