from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deskhand_sandbox.dialects.coordinates import (
    CoordinateSystem,
    Frame,
    Part,
    fractions,
    hidpi,
    pixels,
    shown_at,
    smart_resize,
    thousandths,
)
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Drag,
    MovePointer,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Upload,
    Zoom,
)

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


@settings(max_examples=100)
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


@settings(max_examples=100)
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


@settings(max_examples=100)
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
        Upload(x=100, y=50, paths=("a.txt",)),
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


# ---- numbers as they stand in a text


SCALES = st.sampled_from([1.0, 1.25, 1.5, 1.75, 2.0, 2.625, 3.0])


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    """Every frame there is, for screenshots of any size."""
    size = draw(SIZE)
    assume(max(size) / min(size) < 100)
    return draw(
        st.one_of(
            SYSTEM.map(lambda system: system.frame(size)),
            st.just(pixels(size)),
            st.just(thousandths(size)),
            st.integers(2, 6).map(lambda decimals: fractions(size, decimals=decimals)),
            st.tuples(SCALES, st.integers(0, 3)).map(lambda each: hidpi(size, each[0], decimals=each[1])),
            st.tuples(SIZE, st.integers(0, 2)).map(lambda each: shown_at(size, each[0], decimals=each[1])),
        )
    )


@st.composite
def frames_and_pixels(draw: st.DrawFn) -> tuple[Frame, tuple[int, int]]:
    frame = draw(frames())
    x, y = (
        draw(st.one_of(st.just(0), st.just(side - 1), st.integers(0, side - 1))) for side in frame.screen_px
    )
    return frame, (x, y)


@settings(max_examples=100)
@given(frames_and_pixels())
def test_a_pixel_written_and_read_is_near_and_the_same_where_the_frame_is_as_fine(
    case: tuple[Frame, tuple[int, int]],
) -> None:
    frame, pixel = case
    back = frame.read(frame.write(pixel))
    for axis in (0, 1):
        assert 0 <= back[axis] < frame.screen_px[axis]
        far_edge = pixel[axis] >= frame.screen_px[axis] - frame.step_px[axis]
        assert abs(back[axis] - pixel[axis]) <= frame.step_px[axis] * (1 if far_edge else 0.5) + 0.5
        if frame.step_px[axis] <= 1:
            assert back[axis] == pixel[axis]
    if frame.exact:
        assert back == pixel


@settings(max_examples=100)
@given(frames_and_pixels())
def test_writing_again_what_was_read_changes_nothing(case: tuple[Frame, tuple[int, int]]) -> None:
    frame, pixel = case
    once = frame.read(frame.write(pixel))
    assert frame.read(frame.write(once)) == once


@settings(max_examples=100)
@given(frames(), st.floats(0, 1), st.floats(0, 1))
def test_what_lies_on_the_screen_stays_on_it_and_what_lies_beyond_stays_beyond(
    frame: Frame, across: float, down: float
) -> None:
    inside = (frame.extent[0] * across * 0.999999, frame.extent[1] * down * 0.999999)
    assert all(0 <= pixel < side for pixel, side in zip(frame.read(inside), frame.screen_px, strict=True))
    below = frame.read((-0.001 - across * 5000, inside[1]))
    above = frame.read((inside[0], frame.extent[1] + 0.001 + down * 5000))
    assert below[0] < 0
    assert above[1] >= frame.screen_px[1]


@settings(max_examples=100)
@given(st.data(), SIZE, SCALES)
def test_a_click_read_in_any_frame_lands_on_the_same_pixel_of_a_hidpi_device(
    data: st.DataObject, logical_px: tuple[int, int], scale: float
) -> None:
    """The screenshot is shown in every frame there is; the device has pixels of its own."""
    assume(max(logical_px) / min(logical_px) < 100)
    device_px = (round(logical_px[0] * scale), round(logical_px[1] * scale))
    on_device = shown_at(device_px, logical_px)  # a logical pixel is `scale` of the device's
    x, y = (data.draw(st.integers(0, side - 1)) for side in logical_px)
    meant = on_device.read((x, y))
    for frame in (
        pixels(logical_px),
        fractions(logical_px),
        hidpi(logical_px, scale),
        thousandths(logical_px),
        CoordinateSystem(kind="resized", max_pixels=12_845_056).frame(logical_px),
        shown_at(logical_px, (1280, 800)),
    ):
        landed = on_device.read(frame.read(frame.write((x, y))))
        if frame.exact:
            assert landed == meant
        for axis in (0, 1):
            pixel_scale = device_px[axis] / logical_px[axis]
            assert abs(landed[axis] - meant[axis]) <= (frame.step_px[axis] + 0.5) * pixel_scale + 1
            assert 0 <= landed[axis] < device_px[axis]


def test_fractions_and_logical_pixels_are_written_with_their_decimals() -> None:
    assert fractions((1280, 720)).write((640, 180)) == (0.5, 0.25)
    assert fractions((1280, 720)).read((1, 1)) == (1279, 719)
    assert hidpi((2560, 1440), 2).write((201, 100)) == (100.5, 50)
    assert hidpi((2560, 1440), 2, decimals=0).write((201, 100)) == (101, 50)
    assert hidpi((2560, 1440), 2).exact
    assert not hidpi((2560, 1440), 2, decimals=0).exact
    assert pixels((2560, 1440)).write((201, 100)) == (201, 100)


def test_steps_are_measured_in_pixels() -> None:
    assert thousandths((1280, 500)).step_px == (1.28, 0.5)
    assert CoordinateSystem(kind="grid", step=4).frame((160, 210)).step_px == (4, 4)


def test_smart_resize_keeps_within_its_bounds() -> None:
    # the example of UI-TARS's README: a screenshot of 1920 x 1080 becomes 1932 x 1092
    assert smart_resize((1920, 1080), min_pixels=100 * 28 * 28, max_pixels=16384 * 28 * 28) == (1932, 1092)
    assert smart_resize((1920, 1080), max_pixels=500_000)[0] < 1920
    assert smart_resize((10, 10), min_pixels=3136) == (56, 56)


@st.composite
def parts(draw: st.DrawFn) -> Part:
    """A part of some screen, as large as it or larger, as `Zoom` shows it."""
    left, top = draw(st.integers(0, 3000)), draw(st.integers(0, 3000))
    width, height = draw(st.integers(1, 2000)), draw(st.integers(1, 2000))
    scale = draw(st.floats(1, 20))
    shown = (max(width, round(width * scale)), max(height, round(height * scale)))
    return Part(region=(left, top, left + width, top + height), shown_px=shown)


@settings(max_examples=200)
@given(parts(), st.data())
def test_a_pixel_of_the_screen_is_itself_again_after_a_closer_look(part: Part, data: st.DataObject) -> None:
    left, top, right, bottom = part.region
    point = data.draw(st.tuples(st.integers(left, right - 1), st.integers(top, bottom - 1)))
    shown = part.to_part(point)
    assert all(0 <= at < size for at, size in zip(shown, part.shown_px, strict=True))
    assert part.to_screen(shown) == point


@settings(max_examples=200)
@given(parts(), st.data())
def test_a_pixel_of_an_enlarged_part_lies_in_it_and_comes_back_to_what_it_shows(
    part: Part, data: st.DataObject
) -> None:
    width, height = part.shown_px
    left, top, right, bottom = part.region
    point = data.draw(st.tuples(st.integers(0, width - 1), st.integers(0, height - 1)))
    x, y = part.to_screen(point)
    assert left <= x < right and top <= y < bottom
    back = part.to_part((x, y))
    assert abs(back[0] - point[0]) <= width / (right - left) + 0.5
    assert abs(back[1] - point[1]) <= height / (bottom - top) + 0.5


def test_what_lies_beyond_a_part_was_not_seen() -> None:
    part = Part(region=(100, 50, 140, 70), shown_px=(400, 200))
    assert part.action_to_screen(Click(x=0, y=0)) == Click(x=100, y=50)
    assert part.action_to_screen(Drag(path=((200, 100), (399, 199)))) == Drag(path=((120, 60), (139, 69)))
    assert part.action_to_screen(Zoom(start=(0, 0), end=(399, 199))) == Zoom(start=(100, 50), end=(139, 69))
    assert part.action_to_part(Click(x=120, y=60)) == Click(x=200, y=100)
    for x, y in ((-1, 0), (0, -1), (400, 0), (0, 200)):
        with pytest.raises(InvalidAction, match="beyond the part of the screen shown, which is 400 x 200"):
            part.to_screen((x, y))
