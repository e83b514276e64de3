"""Step labels from outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, picture
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.types import Step
from deskhand_flywheel.prm.labels import StepMark, labels_of, marks_of
from deskhand_sandbox.types import CallTool, Click, Run


def _labels(*steps: Step, success: bool = True, discount: float = 0.5) -> list[float]:
    trajectory = make_trajectory("a", steps=steps, end=make_end(success=success))
    return [label.label for label in labels_of(trajectory, discount=discount)]


def test_a_success_is_discounted_back_from_its_end() -> None:
    assert _labels(make_step(0), make_step(1), make_step(2)) == [0.25, 0.5, 1.0]


def test_every_step_of_a_failure_is_zero() -> None:
    assert _labels(make_step(0), make_step(1), success=False) == [0.0, 0.0]


def test_void_refused_and_looping_steps_are_zero_and_cost_nothing_to_those_before() -> None:
    again = replace(make_step(3), observation=make_step(0).observation)
    steps = (make_step(0), make_step(1, actions=()), make_step(2, action_error="off"), again, make_step(4))
    assert _labels(*steps) == [0.5, 0.0, 0.0, 0.0, 1.0]
    assert marks_of(make_trajectory("a", steps=steps)) == (
        StepMark.USEFUL,
        StepMark.VOID,
        StepMark.REFUSED,
        StepMark.LOOP,
        StepMark.USEFUL,
    )


def test_the_same_action_on_another_screen_is_no_loop() -> None:
    assert _labels(make_step(0), make_step(1)) == [0.5, 1.0]
    same_screen = make_step(1, image=picture(0), actions=(Click(x=1, y=1),))
    assert _labels(make_step(0), same_screen) == [0.5, 1.0]


@pytest.mark.parametrize("field", ["terminal", "output", "dialog", "url", "text_tree"])
def test_what_no_picture_shows_tells_screens_apart(field: str) -> None:
    """A pager under an unchanged picture: each page is another."""

    def turn(index: int, said: str) -> Step:
        seen = replace(make_step(0).observation, captured_at_s=1000.0 + index, **{field: said})
        return make_step(index, actions=(Run(command="next"),), observation=seen)

    pages = make_trajectory("a", steps=(turn(0, "page 1"), turn(1, "page 2"), turn(2, "page 3")))
    assert marks_of(pages) == (StepMark.USEFUL,) * 3
    stuck = make_trajectory("b", steps=(turn(0, "page 1"), turn(1, "page 1")))
    assert marks_of(stuck) == (StepMark.USEFUL, StepMark.LOOP)


def test_a_part_of_the_screen_is_not_the_whole() -> None:
    whole = make_step(0)
    part = replace(whole.observation, region=(0, 0, 80, 105))
    steps = (whole, make_step(1, observation=part))
    assert marks_of(make_trajectory("a", steps=steps)) == (StepMark.USEFUL,) * 2


def test_actions_with_arguments_can_loop_too() -> None:
    call = CallTool(name="find", arguments={"q": ["a"]})
    first, second = (make_step(index, image=picture(0), actions=(call,)) for index in range(2))
    assert _labels(first, second) == [1.0, 0.0]


def test_the_verdict_is_the_last_attempts_and_another_attempt_is_no_loop() -> None:
    again = replace(make_step(2), observation=make_step(0).observation)
    steps = (make_step(0), make_step(1, answer=f"No. {TRY_AGAIN}"), again, make_step(3))
    labels = labels_of(make_trajectory("a", steps=steps, end=make_end()), discount=0.5)
    assert [(each.label, each.value) for each in labels] == [(0.0, 0.0), (0.0, 0.0), (0.5, 0.25), (1.0, 0.5)]
    assert {each.mark for each in labels} == {StepMark.USEFUL}


def test_no_verdict_gives_no_labels() -> None:
    assert labels_of(make_trajectory("a", end=None)) == ()
    assert labels_of(make_trajectory("a", end=make_end(success=None))) == ()


@given(st.lists(st.sampled_from(["useful", "void", "refused"]), max_size=12), st.floats(0, 1))
def test_labels_rise_towards_a_success_and_stay_from_zero_to_one(kinds: list[str], discount: float) -> None:
    image = picture(0)
    changes = {"useful": {}, "void": {"actions": ()}, "refused": {"action_error": "off"}}
    steps = tuple(
        make_step(index, image=image, **{"actions": (Click(x=index, y=0),), **changes[kind]})
        for index, kind in enumerate(kinds)
    )
    labels = labels_of(make_trajectory("a", steps=steps, end=make_end()), discount=discount)
    useful = [label.label for label in labels if label.mark is StepMark.USEFUL]
    assert useful == sorted(useful)
    assert len(labels) == len(kinds)
    assert all(0.0 <= label.label <= 1.0 for label in labels)
    assert not useful or useful[-1] == 1.0


@pytest.mark.parametrize("discount", [-0.1, 1.1])
def test_a_discount_out_of_range_is_refused(discount: float) -> None:
    with pytest.raises(ValueError, match="discount"):
        _labels(make_step(0), discount=discount)
