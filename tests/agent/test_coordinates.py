from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deskhand_agent.coordinates import CoordinateSystem, Frame, smart_resize
from deskhand_sandbox.types import Action, Answer, Click, Drag, MovePointer, Scroll, Swipe, Touch, TypeText

SIZE = st.tuples(st.integers(28, 4000), st.integers(28, 4000))
SYSTEM = st.sampled_from(
    [
        CoordinateSystem(),
        CoordinateSystem(kind="grid", step=4),
        CoordinateSystem(kind="grid", step=7),
        CoordinateSystem(kind="normalised"),
        CoordinateSystem(kind="resized"),
        CoordinateSystem(kind="resized", factor=32, max_pixels=500_000),
    ]
)


def _rounding_px(frame: Frame, axis: int) -> float:
    """Half a unit of the model's grid in pixels (a whole one at the far edge), and half a pixel back."""
    unit = frame.step * frame.screen_px[axis] / frame.extent[axis]
    return unit + 0.5


@settings(max_examples=300, deadline=None)
@given(SYSTEM, SIZE, st.data())
def test_there_and_back_lands_within_rounding_and_on_the_screen(
    system: CoordinateSystem, size: tuple[int, int], data: st.DataObject
) -> None:
    assume(max(size) / min(size) < 100)
    frame = system.frame(size)
    point = data.draw(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)))
    back = frame.to_screen(frame.to_model(point))
    for axis in (0, 1):
        assert 0 <= back[axis] < size[axis]
        assert abs(back[axis] - point[axis]) <= _rounding_px(frame, axis)


@settings(max_examples=300, deadline=None)
@given(SYSTEM, SIZE, st.data())
def test_what_a_model_can_write_lands_on_the_screen_and_only_that(
    system: CoordinateSystem, size: tuple[int, int], data: st.DataObject
) -> None:
    frame = system.frame(size)
    last = [extent if frame.inclusive else extent - 1 for extent in frame.extent]
    inside = data.draw(st.tuples(st.integers(0, last[0]), st.integers(0, last[1])))
    outside = data.draw(st.one_of(st.integers(-5000, -200), st.integers(last[0] + 1, last[0] + 5000)))
    assert all(0 <= pixel < side for pixel, side in zip(frame.to_screen(inside), size, strict=True))
    assert not 0 <= frame.to_screen((outside, 0))[0] < size[0]


@settings(max_examples=100, deadline=None)
@given(SYSTEM, SIZE, st.data())
def test_writing_again_what_was_read_changes_nothing_where_the_model_is_coarser(
    system: CoordinateSystem, size: tuple[int, int], data: st.DataObject
) -> None:
    frame = system.frame(size)
    assume(all(extent <= side for extent, side in zip(frame.extent, size, strict=True)))
    point = data.draw(st.tuples(st.integers(0, size[0] - 1), st.integers(0, size[1] - 1)))
    written = frame.to_model(point)
    assert frame.to_model(frame.to_screen(written)) == written


@pytest.mark.parametrize(
    "action",
    [
        Click(x=100, y=50, button="right", count=2),
        MovePointer(x=100, y=50),
        Scroll(x=100, y=50, dx_px=7, dy_px=300),
        Touch(x=100, y=50, hold_ms=800),
    ],
)
def test_single_positions_are_converted_and_nothing_else(action: Action) -> None:
    frame = CoordinateSystem(kind="normalised").frame((200, 500))
    expected = type(action)(
        **{name: getattr(action, name) for name in action.__slots__} | {"x": 500, "y": 100}
    )
    assert frame.action_to_model(action) == expected
    assert frame.action_to_screen(expected) == action


@pytest.mark.parametrize("kind", [Drag, Swipe])
def test_every_point_of_a_path_is_converted(kind: type[Drag] | type[Swipe]) -> None:
    frame = CoordinateSystem(kind="normalised").frame((200, 500))
    on_screen, written = (
        kind(path=((0, 0), (100, 50), (199, 499))),
        kind(path=((0, 0), (500, 100), (995, 998))),
    )
    assert frame.action_to_model(on_screen) == written
    assert frame.action_to_screen(written) == on_screen


def test_actions_without_positions_pass_unchanged() -> None:
    frame = CoordinateSystem(kind="normalised").frame((200, 500))
    for action in (TypeText(text="x"), Answer(text="y")):
        assert frame.action_to_screen(action) is action


def test_the_far_edge_of_0_to_1000_is_the_last_pixel() -> None:
    assert CoordinateSystem(kind="normalised").frame((1280, 720)).to_screen((1000, 1000)) == (1279, 719)


def test_grid_coordinates_are_multiples_of_its_step() -> None:
    frame = CoordinateSystem(kind="grid", step=4).frame((160, 210))
    assert frame.to_model((83, 125)) == (84, 124)
    assert frame.to_model((159, 209)) == (156, 208)


@settings(max_examples=200, deadline=None)
@given(SIZE, st.sampled_from([(28, 3136, 1_003_520), (32, 65_536, 500_000)]))
def test_smart_resize_is_that_of_the_image_processor(
    size: tuple[int, int], limits: tuple[int, int, int]
) -> None:
    import_module("deskhand_agent.models")  # makes torchvision load; processors import it
    qwen = import_module("transformers.models.qwen2_vl.image_processing_pil_qwen2_vl")
    factor, least, most = limits
    assume(max(size) / min(size) < 200)
    width, height = smart_resize(size, factor=factor, min_pixels=least, max_pixels=most)
    assert (height, width) == qwen.smart_resize(size[1], size[0], factor, least, most)
