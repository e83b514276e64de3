"""Actions as AndroidWorld's agents write them: the objects of its tests and of its agents' prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.dialects.android_world import DIALECT
from deskhand_sandbox.dialects.coordinates import hidpi
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Drag,
    Fail,
    Finish,
    History,
    OpenApp,
    Press,
    Run,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
)

SIZE = (1080, 2400)
VIEW = View(frame=DIALECT.frame(SIZE), boxes={"0": (0, 100, 200, 300), "7": (100, 2000, 300, 2100)})
ENTER = Press(keys=("Enter",))

RECORDED: list[tuple[dict[str, Any], tuple[Action, ...]]] = [
    ({"action_type": "click", "x": 120, "y": 640}, (Touch(x=120, y=640),)),
    ({"action_type": "click", "index": 7}, (Touch(x=200, y=2050),)),
    ({"action_type": "click", "index": "0"}, (Touch(x=100, y=200),)),
    ({"action_type": "double_tap", "x": 5, "y": 6}, (Click(x=5, y=6, count=2),)),
    ({"action_type": "long_press", "x": 5, "y": 6}, (Touch(x=5, y=6, hold_ms=1000),)),
    (
        {"action_type": "input_text", "text": "Gracias, señor", "x": 9, "y": 8},
        (Touch(x=9, y=8), TypeText(text="Gracias, señor"), ENTER),
    ),
    (
        {"action_type": "input_text", "text": "42", "index": 7, "clear_text": True},
        (
            Touch(x=200, y=2050),
            Press(keys=("Control", "a")),
            Press(keys=("Backspace",)),
            TypeText(text="42"),
            ENTER,
        ),
    ),
    ({"action_type": "keyboard_enter"}, (ENTER,)),
    ({"action_type": "navigate_back"}, (History(to="back"),)),
    ({"action_type": "navigate_home"}, (History(to="home"),)),
    (
        {"action_type": "scroll", "direction": "down"},
        (Swipe(path=((540, 1200), (540, 0)), duration_ms=300),),
    ),
    (
        {"action_type": "scroll", "direction": "up", "index": 7},
        (Swipe(path=((200, 2050), (200, 2099)), duration_ms=300),),
    ),
    (
        {"action_type": "scroll", "direction": "right"},
        (Swipe(path=((540, 1200), (0, 1200)), duration_ms=300),),
    ),
    ({"action_type": "swipe", "direction": "up"}, (Swipe(path=((540, 2399), (540, 0)), duration_ms=500),)),
    ({"action_type": "swipe", "direction": "down"}, (Swipe(path=((540, 0), (540, 2399)), duration_ms=500),)),
    (
        {"action_type": "swipe", "direction": "left"},
        (Swipe(path=((0, 1200), (1079, 1200)), duration_ms=500),),
    ),
    ({"action_type": "open_app", "app_name": "Simple Calendar Pro"}, (OpenApp(name="Simple Calendar Pro"),)),
    ({"action_type": "wait"}, (Wait(seconds=1.0),)),
    ({"action_type": "status", "goal_status": "complete"}, (Finish(),)),
    ({"action_type": "status", "goal_status": "infeasible"}, (Fail(),)),
    ({"action_type": "answer", "text": "Thursday"}, (Answer(text="Thursday"),)),
    ({"action_type": "answer", "text": "Action: call Bob"}, (Answer(text="Action: call Bob"),)),
    ({"action_type": "press_keyboard", "keycode": "KEYCODE_DEL"}, (Press(keys=("Backspace",)),)),
    ({"action_type": "unknown"}, ()),
]


@pytest.mark.parametrize(("source", "actions"), RECORDED, ids=lambda each: str(each)[:50])
def test_every_kind_is_read(source: dict[str, Any], actions: tuple[Action, ...]) -> None:
    assert DIALECT.read(source, VIEW) == actions
    assert DIALECT.read(json.dumps(source), VIEW) == actions
    assert DIALECT.read(f"Reason: It has to be so.\nAction: {json.dumps(source)}", VIEW) == actions


@pytest.mark.parametrize(
    ("action", "written"),
    [
        (Click(x=5, y=6), {"action_type": "click", "x": 5, "y": 6}),
        (Click(x=5, y=6, count=2), {"action_type": "double_tap", "x": 5, "y": 6}),
        (Touch(x=5, y=6), {"action_type": "click", "x": 5, "y": 6}),
        (Touch(x=5, y=6, hold_ms=1000), {"action_type": "long_press", "x": 5, "y": 6}),
        (TypeText(text="hello\n"), {"action_type": "input_text", "text": "hello"}),
        (ENTER, {"action_type": "keyboard_enter"}),
        (History(to="back"), {"action_type": "navigate_back"}),
        (History(to="home"), {"action_type": "navigate_home"}),
        (Scroll(x=5, y=6, dy_px=300), {"action_type": "scroll", "direction": "down"}),
        (Scroll(x=5, y=6, dx_px=-300), {"action_type": "scroll", "direction": "left"}),
        (Swipe(path=((540, 2399), (540, 0))), {"action_type": "swipe", "direction": "up"}),
        (Swipe(path=((500, 900), (500, 400))), {"action_type": "scroll", "direction": "down"}),
        (OpenApp(name="Clock"), {"action_type": "open_app", "app_name": "Clock"}),
        (Wait(seconds=3.0), {"action_type": "wait"}),
        (Finish(text="done"), {"action_type": "status", "goal_status": "complete"}),
        (Fail(), {"action_type": "status", "goal_status": "infeasible"}),
        (Answer(text="42"), {"action_type": "answer", "text": "42"}),
    ],
)
def test_actions_are_written(action: Action, written: dict[str, Any]) -> None:
    assert DIALECT.write(action, VIEW) == (written,)


def test_a_text_is_written_where_the_pointer_is() -> None:
    view = View(frame=VIEW.frame, pointer=(10, 20))
    told = DIALECT.write(TypeText(text="hello"), view)
    assert told == ({"action_type": "input_text", "x": 10, "y": 20, "text": "hello"},)


@pytest.mark.parametrize(
    "source",
    [
        source
        for source, actions in RECORDED
        if len(actions) == 1 and source["action_type"] != "press_keyboard"
    ],
    ids=str,
)
def test_what_is_read_is_written_the_same_and_read_again(source: dict[str, Any]) -> None:
    (action,) = DIALECT.read(source, VIEW)
    (written,) = DIALECT.write(action, VIEW)
    if "index" not in source:
        assert written == source
        assert DIALECT.read(written, VIEW) == (action,)


@given(st.integers(0, SIZE[0] - 1), st.integers(0, SIZE[1] - 1), st.sampled_from([1.0, 1.5, 2.625, 3.0]))
def test_a_touch_lands_on_the_same_pixel_whatever_the_scale(x: int, y: int, scale: float) -> None:
    assert DIALECT.read(DIALECT.write(Touch(x=x, y=y), VIEW)[0], VIEW) == (Touch(x=x, y=y),)
    view = View(frame=hidpi(SIZE, scale, decimals=0))
    (there,) = DIALECT.read(DIALECT.write(Touch(x=x, y=y), view)[0], view)
    assert isinstance(there, Touch)
    assert abs(there.x - x) <= scale and abs(there.y - y) <= scale


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"action_type": "clik", "x": 1, "y": 1}, "did you mean click"),
        ({"action_type": "click"}, "does not say where"),
        ({"action_type": "click", "index": 3}, "no element 3, there are 2"),
        ({"action_type": "click", "index": 7, "x": 1}, "not both"),
        ({"action_type": "click", "x": 1}, "y of click must be a number"),
        ({"action_type": "click", "x": 1, "y": 2, "z": 3}, "unknown field 'z'"),
        ({"action_type": "scroll", "direction": "north"}, "unknown direction"),
        ({"action_type": "scroll"}, "direction"),
        ({"action_type": "status", "goal_status": "perhaps"}, "unknown goal_status"),
        ({"action_type": "open_app"}, "app_name of open_app must be a text"),
        ({"action_type": "press_keyboard", "keycode": "KEYCODE_DELL"}, "did you mean KEYCODE_DEL"),
        ("Action: click(3)", "no JSON"),
        ([1], "must be an object"),
        ({}, "action_type"),
    ],
)
def test_wrong_actions_are_refused(source: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        DIALECT.read(source, VIEW)


def test_what_it_has_no_word_for_is_refused() -> None:
    for action in (Run(command="ls"), Drag(path=((1, 2), (3, 4))), Click(x=1, y=1, button="right")):
        with pytest.raises(InvalidAction, match=f"no action for {type(action).__name__}"):
            DIALECT.write(action, VIEW)
    with pytest.raises(InvalidAction, match="straight swipes"):
        DIALECT.write(Swipe(path=((1, 2), (3, 4), (5, 6))), VIEW)
