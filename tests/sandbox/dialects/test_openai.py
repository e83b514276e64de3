"""OpenAI's computer actions.

The recorded actions are those of the guide on computer use and of its sample app (openai-cua-sample-app), the
fields those of `ComputerAction` in the `openai` package (3.54.0), which checks what is written here.
"""

from __future__ import annotations

import json

import pytest

from deskhand_sandbox.dialects import read, write
from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    Finish,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Press,
    Scroll,
    TypeText,
    Wait,
)

FRAME = pixels((1280, 720))

RECORDED: list[tuple[dict[str, object], tuple[Action, ...]]] = [
    ({"type": "click", "button": "left", "x": 405, "y": 157}, (Click(x=405, y=157),)),
    ({"type": "click", "x": 405, "y": 157}, (Click(x=405, y=157),)),
    ({"type": "click", "button": "right", "x": 5, "y": 7}, (Click(x=5, y=7, button="right"),)),
    ({"type": "click", "button": "wheel", "x": 5, "y": 7}, (Click(x=5, y=7, button="middle"),)),
    ({"type": "click", "button": "back", "x": 5, "y": 7}, (History(to="back"),)),
    ({"type": "click", "button": "forward", "x": 5, "y": 7}, (History(to="forward"),)),
    (
        {"type": "click", "button": "left", "x": 5, "y": 7, "keys": ["CTRL", "SHIFT"]},
        (
            KeyDown(key="Control"),
            KeyDown(key="Shift"),
            Click(x=5, y=7),
            KeyUp(key="Shift"),
            KeyUp(key="Control"),
        ),
    ),
    ({"type": "double_click", "x": 5, "y": 7, "keys": None}, (Click(x=5, y=7, count=2),)),
    (
        {"type": "drag", "path": [{"x": 100, "y": 200}, {"x": 200, "y": 300}]},
        (Drag(path=((100, 200), (200, 300))),),
    ),
    ({"type": "drag", "path": [[1, 2], [3, 4], [5, 6]]}, (Drag(path=((1, 2), (3, 4), (5, 6))),)),
    ({"type": "keypress", "keys": ["CTRL", "L"]}, (Press(keys=("Control", "l")),)),
    ({"type": "keypress", "keys": ["ENTER"]}, (Press(keys=("Enter",)),)),
    ({"type": "keypress", "keys": ["ARROWDOWN"]}, (Press(keys=("ArrowDown",)),)),
    ({"type": "keypress", "keys": ["CMD", "SPACE"]}, (Press(keys=("Meta", " ")),)),
    ({"type": "keypress", "keys": ["A"]}, (Press(keys=("A",)),)),
    ({"type": "move", "x": 5, "y": 7}, (MovePointer(x=5, y=7),)),
    ({"type": "screenshot"}, (Wait(seconds=0.0),)),
    ({"type": "scroll", "x": 5, "y": 7, "scroll_x": 0, "scroll_y": 320}, (Scroll(x=5, y=7, dy_px=320),)),
    ({"type": "scroll", "x": 5, "y": 7, "scrollX": -50, "scrollY": 0}, (Scroll(x=5, y=7, dx_px=-50),)),
    ({"type": "type", "text": "penguin"}, (TypeText(text="penguin"),)),
    ({"type": "wait"}, (Wait(seconds=2.0),)),
]


@pytest.mark.parametrize(("action", "actions"), RECORDED)
def test_actions_are_read(action: dict[str, object], actions: tuple[Action, ...]) -> None:
    item = {"type": "computer_call", "id": "cu_1", "call_id": "c_1", "status": "completed"}
    item["pending_safety_checks"] = []  # type: ignore[assignment]
    for source in (
        action,
        json.dumps(action),
        {**item, "action": action},
        {**item, "action": None, "actions": [action]},
        [action],
    ):
        assert read("openai", source, FRAME) == actions


def test_a_call_may_hold_several_actions() -> None:
    call = {
        "type": "computer_call",
        "actions": [{"type": "click", "x": 405, "y": 157}, {"type": "type", "text": "penguin"}],
    }
    assert read("openai", call, FRAME) == (Click(x=405, y=157), TypeText(text="penguin"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("click", "is no JSON"),
        ([], "1 to 1000 actions, not 0"),
        ({"type": "clik", "x": 1, "y": 2}, "did you mean click"),
        ({"x": 1, "y": 2}, "type of an action must be a text, not nothing"),
        ({"type": "click", "x": 1}, "y of an action must be a number, not nothing"),
        ({"type": "click", "x": True, "y": 2}, "must be a number"),
        ({"type": "click", "x": 1, "y": 2, "button": "lef"}, "did you mean left"),
        ({"type": "click", "x": 1, "y": 2, "buton": "left"}, "did you mean button"),
        ({"type": "drag", "path": [{"x": 1, "y": 2}]}, "a list of 2 to"),
        ({"type": "drag", "path": [{"x": 1}, {"x": 1, "y": 2}]}, "list of 2 numbers"),
        ({"type": "keypress", "keys": []}, "names of keys"),
        ({"type": "keypress", "keys": [3]}, "a list of texts"),
        ({"type": "type"}, "text of an action must be a text"),
    ],
)
def test_wrong_actions_are_refused(source: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read("openai", source, FRAME)


WRITTEN: list[tuple[Action, dict[str, object]]] = [
    (Click(x=1, y=2, button="middle"), {"type": "click", "button": "wheel", "x": 1, "y": 2}),
    (Click(x=1, y=2, count=2), {"type": "double_click", "x": 1, "y": 2}),
    (MovePointer(x=1, y=2), {"type": "move", "x": 1, "y": 2}),
    (Drag(path=((1, 2), (3, 4))), {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}),
    (
        Scroll(x=1, y=2, dx_px=3, dy_px=-4),
        {"type": "scroll", "x": 1, "y": 2, "scroll_x": 3, "scroll_y": -4},
    ),
    (TypeText(text="é"), {"type": "type", "text": "é"}),
    (
        Press(keys=("Control", "ArrowLeft", " ", "a")),
        {"type": "keypress", "keys": ["CTRL", "ARROWLEFT", "SPACE", "a"]},
    ),
    (Press(keys=("Control", "A")), {"type": "keypress", "keys": ["CTRL", "SHIFT", "a"]}),
    (Wait(seconds=3), {"type": "wait"}),
    (Wait(seconds=0), {"type": "screenshot"}),
    (History(to="back"), {"type": "click", "button": "back", "x": 7, "y": 8}),
]


@pytest.mark.parametrize(("action", "written"), WRITTEN)
def test_actions_are_written_as_the_published_types_have_them(
    action: Action, written: dict[str, object]
) -> None:
    (found,) = write("openai", action, FRAME, pointer=(7, 8))
    assert found == written
    types = pytest.importorskip("openai.types.responses.computer_action")
    pydantic = pytest.importorskip("pydantic")
    parsed = pydantic.TypeAdapter(types.ComputerAction).validate_python(found, strict=True)
    assert parsed.model_dump(exclude_none=True) == written


@pytest.mark.parametrize(
    "action",
    [
        Click(x=1, y=2, count=3),
        Click(x=1, y=2, button="right", count=2),
        Drag(path=((1, 2), (3, 4)), button="right"),
        KeyDown(key="a"),
        History(to="reload"),
        Finish(),
    ],
)
def test_what_the_tool_cannot_say_is_refused(action: Action) -> None:
    with pytest.raises(InvalidAction, match=f"no action for this {type(action).__name__}"):
        write("openai", action, FRAME)
