from __future__ import annotations

import pytest

from deskhand_sandbox.dialects.computer_13 import read_action, write_action
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Drag,
    Fail,
    Finish,
    KeyDown,
    KeyUp,
    MovePointer,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    TypeText,
    Wait,
)

AT = (7, 8)


@pytest.mark.parametrize(
    ("kind", "parameters", "actions"),
    [
        ("MOVE_TO", {"x": 10, "y": 20.5}, (MovePointer(x=10, y=20),)),
        ("CLICK", {"x": 10, "y": 20}, (Click(x=10, y=20),)),
        (
            "CLICK",
            {"x": 1, "y": 2, "button": "right", "num_clicks": 2},
            (Click(x=1, y=2, button="right", count=2),),
        ),
        ("CLICK", {}, (PointerDown(), PointerUp())),
        ("MOUSE_DOWN", {"button": "middle"}, (PointerDown(button="middle"),)),
        ("MOUSE_UP", {}, (PointerUp(),)),
        ("RIGHT_CLICK", {"x": 1, "y": 2}, (Click(x=1, y=2, button="right"),)),
        ("DOUBLE_CLICK", {"x": 1, "y": 2}, (Click(x=1, y=2, count=2),)),
        ("DRAG_TO", {"x": 1, "y": 2}, (Drag(path=(AT, (1, 2))),)),
        ("SCROLL", {"dx": 0, "dy": -3}, (Scroll(x=7, y=8, dy_px=300),)),
        ("SCROLL", {"dx": 2, "dy": 1}, (Scroll(x=7, y=8, dx_px=200), Scroll(x=7, y=8, dy_px=-100))),
        ("TYPING", {"text": "grüße\n"}, (TypeText(text="grüße\n"),)),
        ("PRESS", {"key": "enter"}, (Press(keys=("Enter",)),)),
        ("KEY_DOWN", {"key": "ctrl"}, (KeyDown(key="Control"),)),
        ("KEY_UP", {"key": "ctrl"}, (KeyUp(key="Control"),)),
        ("HOTKEY", {"keys": ["ctrl", "c"]}, (Press(keys=("Control", "c")),)),
        ("WAIT", {}, (Wait(seconds=2.0),)),
        ("FAIL", {}, (Fail(),)),
        ("DONE", {}, (Finish(),)),
    ],
)
def test_every_kind_is_read(kind: str, parameters: dict[str, object], actions: tuple[Action, ...]) -> None:
    assert read_action({"action_type": kind, "parameters": parameters}, pointer=AT) == actions
    assert read_action({"action_type": kind, **parameters}, pointer=AT) == actions
    if not parameters:
        assert read_action(kind) == actions


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"action_type": "CLIK"}, "did you mean CLICK"),
        ({"parameters": {}}, "unknown action_type"),
        (3, "an object with action_type"),
        ({"action_type": "CLICK", "parameters": [1, 2]}, "must be an object"),
        ({"action_type": "CLICK", "parameters": {"x": "left", "y": 1}}, "needs numbers"),
        ({"action_type": "CLICK", "parameters": {"z": 1}}, "unknown parameter 'z'"),
        ({"action_type": "TYPING", "parameters": {}}, "needs a text"),
        ({"action_type": "HOTKEY", "parameters": {}}, "needs names of keys"),
        ({"action_type": "SCROLL", "parameters": {"dy": "much"}}, "must be a number"),
    ],
)
def test_wrong_actions_are_refused(action: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read_action(action, pointer=AT)


@pytest.mark.parametrize(
    ("action", "written"),
    [
        (
            Click(x=1, y=2, button="right", count=2),
            [("CLICK", {"x": 1, "y": 2, "button": "right", "num_clicks": 2})],
        ),
        (MovePointer(x=1, y=2), [("MOVE_TO", {"x": 1, "y": 2})]),
        (PointerDown(button="middle"), [("MOUSE_DOWN", {"button": "middle"})]),
        (PointerUp(), [("MOUSE_UP", {"button": "left"})]),
        (
            Drag(path=((1, 2), (3, 4)), button="right"),
            [
                ("MOVE_TO", {"x": 1, "y": 2}),
                ("MOUSE_DOWN", {"button": "right"}),
                ("MOVE_TO", {"x": 3, "y": 4}),
                ("MOUSE_UP", {"button": "right"}),
            ],
        ),
        (
            Scroll(x=1, y=2, dx_px=40, dy_px=-300),
            [("MOVE_TO", {"x": 1, "y": 2}), ("SCROLL", {"dx": 1, "dy": 3})],
        ),
        (TypeText(text="é\n"), [("TYPING", {"text": "é\n"})]),
        (Press(keys=("Enter",)), [("PRESS", {"key": "enter"})]),
        (Press(keys=("Control", "c")), [("HOTKEY", {"keys": ["ctrl", "c"]})]),
        (KeyDown(key="Shift"), [("KEY_DOWN", {"key": "shift"})]),
        (KeyUp(key="Shift"), [("KEY_UP", {"key": "shift"})]),
    ],
)
def test_every_kind_is_written(action: Action, written: list[tuple[str, dict[str, object]]]) -> None:
    found = write_action(action)
    assert list(found) == [{"action_type": kind, "parameters": parameters} for kind, parameters in written]


def test_the_ends_are_written_as_words() -> None:
    words = [write_action(action) for action in (Wait(seconds=9), Fail(reason="no"), Finish(text="yes"))]
    assert words == [("WAIT",), ("FAIL",), ("DONE",)]
    with pytest.raises(InvalidAction, match="computer_13 has no action for this Answer"):
        write_action(Answer(text="42"))
