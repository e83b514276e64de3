from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.backends.vm.actions import AXIS_STEPS, axis_value, notches


@given(side=st.integers(64, 8192), share=st.floats(0, 1, exclude_max=True))
def test_a_pointer_lands_on_the_pixel_it_was_sent_to(side: int, share: float) -> None:
    pixel = int(share * side)
    value = axis_value(pixel, side)
    assert 0 <= value < AXIS_STEPS
    # as X servers scale an axis of 0…32767 to a screen
    assert value * side // AXIS_STEPS == pixel


def test_the_wheel_turns_at_least_once_for_any_distance() -> None:
    assert [notches(distance) for distance in (0, 1, 149, 251, -1, -300)] == [0, 1, 1, 3, -1, -3]
