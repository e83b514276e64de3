"""A closer look: the picture is that part, and what is clicked in it is clicked on the screen."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_agent.episode import run_episode
from deskhand_agent.sinks import MemorySink
from deskhand_agent.test_time.zoom import on_screen, zoomed
from deskhand_agent.types import Trajectory
from deskhand_sandbox.errors import InfrastructureError, InvalidAction
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Click, Finish, Observation, Split, TypeText, Zoom


def screen(width: int = 160, height: int = 120) -> Observation:
    """White, a red pixel at (50, 40) and a blue field from (100, 60) to (119, 79)."""
    picture = Picture.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).rectangle((100, 60, 119, 79), fill="blue")
    picture.putpixel((50, 40), (255, 0, 0))
    return Observation(screenshot=encoded(picture), captured_at_s=1.0, settled_ms=5.0, url="about:blank")


def pixel(seen: Observation, at: tuple[int, int]) -> Any:
    return Picture.open(io.BytesIO(seen.screenshot.data or b"")).convert("RGB").getpixel(at)


def test_the_part_fills_the_screen_as_far_as_its_shape_allows() -> None:
    seen = zoomed(Zoom(start=(100, 60), end=(119, 79)), screen())
    assert (seen.region, seen.size_px, seen.url) == ((100, 60, 120, 80), (120, 120), "about:blank")
    assert {pixel(seen, at) for at in ((20, 20), (60, 60), (100, 100))} == {(0, 0, 255)}
    # a tree's places are on the whole screen
    assert zoomed(Zoom(start=(100, 60), end=(119, 79)), replace(screen(), text_tree="text (50, 40)")) == seen
    # the corners in any order
    assert zoomed(Zoom(start=(119, 60), end=(100, 79)), screen()) == seen


def test_what_is_seen_in_the_part_is_found_on_the_screen() -> None:
    seen = zoomed(Zoom(start=(46, 37), end=(61, 48)), screen())
    found = [(x, y) for x in range(160) for y in range(120) if pixel(seen, (x, y))[1] < 100]
    assert seen.size_px == (160, 120) and found
    x, y = (sum(axis) / len(found) for axis in zip(*found, strict=True))
    action = on_screen(Click(x=int(x), y=int(y)), seen)
    assert action in (Click(x=50, y=40), Click(x=51, y=41))
    assert on_screen(Click(x=7, y=8), screen()) == Click(x=7, y=8)


def test_a_thin_part_is_looked_at_while_models_take_its_picture() -> None:
    assert zoomed(Zoom(start=(0, 100), end=(1279, 112)), screen(1280, 720)).size_px == (1280, 13)
    assert zoomed(Zoom(start=(9, 0), end=(14, 599)), screen(1280, 720)).size_px == (7, 720)


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ((10, 10), (160, 50), "not on the screen of 160 x 120"),
        ((-1, 10), (50, 50), "not on the screen"),
        ((10, 10), (12, 50), "too small to show anything"),
        ((0, 100), (1279, 111), "too thin to show: take 13 pixels or more the shorter way"),
        ((9, 599), (13, 0), "too thin to show: take 6 pixels or more the shorter way"),
    ],
)
def test_what_cannot_be_looked_at_is_said(start: Any, end: Any, says: str) -> None:
    seen = screen(1280, 720) if "thin" in says else screen()
    with pytest.raises(InvalidAction, match=says):
        zoomed(Zoom(start=start, end=end), seen)


@pytest.mark.parametrize("kept", [0, 20, 100])
def test_a_damaged_screenshot_is_the_computers_failure(kept: int) -> None:
    seen = screen()
    image = replace(seen.screenshot, data=(seen.screenshot.data or b"")[:kept])
    with pytest.raises(InfrastructureError, match="the screenshot is not a readable picture"):
        zoomed(LOOK, replace(seen, screenshot=image))


class Screen:
    """A sandbox that shows one picture and keeps what was done."""

    def __init__(self, stub: SimpleNamespace) -> None:
        self.inner = stub.Sandbox()
        self.inner.act = self.act
        self.inner.reset = self.reset
        self.done: list[Any] = []

    async def reset(self, task: Any) -> Any:
        from deskhand_sandbox.types import Start

        return Start(instruction="look", observation=screen())

    async def act(self, action: Any) -> Observation:
        self.done.append(action)
        return screen()


async def work(stub: SimpleNamespace, *turns: Any) -> tuple[Trajectory, list[Any]]:
    computer = Screen(stub)
    done = await run_episode(
        stub.task(3), sandbox=computer.inner, policy=stub.Policy(*turns), verifier=stub.Verifier(),
        sink=MemorySink(), split=Split.TRAIN,
    )  # fmt: skip
    return done, computer.done


LOOK = Zoom(start=(100, 60), end=(119, 79))


async def test_a_click_after_a_closer_look_is_on_the_screen_and_the_whole_of_it_comes_back(
    stub: SimpleNamespace,
) -> None:
    done, acted = await work(stub, (LOOK,), (Click(x=60, y=60),), (Click(x=60, y=60),), (Finish(),))
    assert acted == [Click(x=110, y=70), Click(x=60, y=60)]
    regions = [step.observation.region for step in done.steps]
    assert regions == [None, (100, 60, 120, 80), None, None]
    # as it was decided: in pixels of what the step shows
    assert done.steps[1].decision.actions == (Click(x=60, y=60),)


async def test_a_closer_look_into_a_closer_look_loses_no_detail(stub: SimpleNamespace) -> None:
    wide = Zoom(start=(40, 30), end=(79, 59))
    done, _ = await work(stub, (wide,), (Zoom(start=(24, 28), end=(87, 75)),), (Finish(),))
    again = done.steps[2].observation
    assert again.region == (46, 37, 63, 50)
    assert again == zoomed(Zoom(start=(46, 37), end=(62, 49)), screen())


async def test_actions_of_one_turn_are_in_pixels_of_what_was_seen_before_it(stub: SimpleNamespace) -> None:
    done, acted = await work(stub, (LOOK, Click(x=5, y=6)), (Finish(),))
    assert acted == [Click(x=5, y=6)] and done.steps[1].observation.region is None
    done, acted = await work(stub, (TypeText(text="a"), LOOK), (Finish(),))
    assert acted == [TypeText(text="a")] and done.steps[1].observation.region == (100, 60, 120, 80)


async def test_what_was_not_seen_is_not_clicked(stub: SimpleNamespace) -> None:
    done, acted = await work(
        stub, (LOOK,), (Click(x=130, y=5),), (Zoom(start=(0, 0), end=(1, 1)),), (Finish(),)
    )
    assert acted == []
    assert "beyond the part of the screen shown" in str(done.steps[1].action_error)
    assert "too small" in str(done.steps[2].action_error)
    # what was seen stays
    assert done.steps[3].observation.region == (100, 60, 120, 80)
