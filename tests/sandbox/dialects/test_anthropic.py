"""Anthropic's tool calls.

The recorded inputs are the examples of the documentation's page on the computer use tool, the fields those of
the input types in the `anthropic` package (2.12.0), the older ones those of anthropic-quickstarts'
`computer_use_demo/tools`.
"""

from __future__ import annotations

import json

import pytest

from deskhand_sandbox.dialects import read, write
from deskhand_sandbox.dialects.anthropic import zoom_region
from deskhand_sandbox.dialects.anthropic.reading import ACTIONS
from deskhand_sandbox.dialects.coordinates import pixels, shown_at
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    EditFile,
    Finish,
    KeyDown,
    KeyUp,
    MovePointer,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    TypeText,
    Wait,
    WriteFile,
)

FRAME = pixels((1280, 800))

COMPUTER: list[tuple[dict[str, object], tuple[Action, ...]]] = [
    ({"action": "screenshot"}, (Wait(seconds=0.0),)),
    ({"action": "cursor_position"}, (Wait(seconds=0.0),)),
    ({"action": "zoom", "region": [100, 200, 400, 350]}, (Wait(seconds=0.0),)),
    ({"action": "left_click", "coordinate": [500, 300]}, (Click(x=500, y=300),)),
    ({"action": "left_click", "coordinate": None}, (Click(x=7, y=8),)),
    ({"action": "right_click", "coordinate": [5, 3]}, (Click(x=5, y=3, button="right"),)),
    ({"action": "middle_click", "coordinate": [5, 3]}, (Click(x=5, y=3, button="middle"),)),
    ({"action": "double_click", "coordinate": [5, 3]}, (Click(x=5, y=3, count=2),)),
    ({"action": "triple_click", "coordinate": [5, 3]}, (Click(x=5, y=3, count=3),)),
    (
        {"action": "left_click", "coordinate": [500, 300], "text": "shift"},
        (KeyDown(key="Shift"), Click(x=500, y=300), KeyUp(key="Shift")),
    ),
    (
        {"action": "left_click", "coordinate": [5, 3], "key": "ctrl+shift"},
        (
            KeyDown(key="Control"),
            KeyDown(key="Shift"),
            Click(x=5, y=3),
            KeyUp(key="Shift"),
            KeyUp(key="Control"),
        ),
    ),
    ({"action": "type", "text": "Hello, world!"}, (TypeText(text="Hello, world!"),)),
    ({"action": "key", "text": "ctrl+s"}, (Press(keys=("Control", "s")),)),
    ({"action": "key", "text": "Return"}, (Press(keys=("Enter",)),)),
    ({"action": "key", "text": "alt+Tab"}, (Press(keys=("Alt", "Tab")),)),
    ({"action": "key", "text": "ctrl+a Delete"}, (Press(keys=("Control", "a")), Press(keys=("Delete",)))),
    ({"action": "key", "text": "Down", "repeat": 2}, (Press(keys=("ArrowDown",)),) * 2),
    (
        {"action": "hold_key", "text": "w", "duration": 2},
        (KeyDown(key="w"), Wait(seconds=2.0), KeyUp(key="w")),
    ),
    ({"action": "mouse_move", "coordinate": [5, 3]}, (MovePointer(x=5, y=3),)),
    ({"action": "left_mouse_down"}, (PointerDown(),)),
    ({"action": "left_mouse_up"}, (PointerUp(),)),
    (
        {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
        (Drag(path=((1, 2), (3, 4))),),
    ),
    ({"action": "left_click_drag", "coordinate": [3, 4]}, (Drag(path=((7, 8), (3, 4))),)),
    (
        {"action": "scroll", "coordinate": [500, 400], "scroll_direction": "down", "scroll_amount": 3},
        (Scroll(x=500, y=400, dy_px=300),),
    ),
    ({"action": "scroll", "scroll_direction": "left", "scroll_amount": 1}, (Scroll(x=7, y=8, dx_px=-100),)),
    (
        {
            "action": "scroll",
            "coordinate": [5, 4],
            "scroll_direction": "up",
            "scroll_amount": 2,
            "text": "ctrl",
        },
        (KeyDown(key="Control"), Scroll(x=5, y=4, dy_px=-200), KeyUp(key="Control")),
    ),
    ({"action": "wait", "duration": 1.5}, (Wait(seconds=1.5),)),
]


@pytest.mark.parametrize(("call", "actions"), COMPUTER)
def test_the_computer_tool_is_read(call: dict[str, object], actions: tuple[Action, ...]) -> None:
    kind = call["action"]
    bare = {name: value for name, value in call.items() if name != "action"}
    block = {"type": "tool_use", "id": "toolu_1", "name": "computer", "input": call}
    member = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": kind,
        "toolset_name": "computer",
        "input": bare,
        "caller": {"type": "direct"},
    }
    for source in (call, json.dumps(call), block, json.dumps(member), member):
        assert read("anthropic", source, FRAME, pointer=(7, 8)) == actions


def test_every_action_of_the_tool_has_an_example() -> None:
    assert {call["action"] for call, _ in COMPUTER} == set(ACTIONS)


def test_clicks_and_drags_go_where_the_pointer_is_wherever_that_is() -> None:
    assert read("anthropic", {"action": "double_click"}, FRAME) == (PointerDown(), PointerUp()) * 2
    assert read("anthropic", {"action": "left_click_drag", "coordinate": [3, 4]}, FRAME) == (
        PointerDown(),
        MovePointer(x=3, y=4),
        PointerUp(),
    )


FILES: list[tuple[str, dict[str, object], Action]] = [
    ("bash", {"command": "ls -l"}, Run(command="ls -l")),
    ("str_replace_editor", {"command": "view", "path": "/a b.txt"}, ReadFile(path="/a b.txt")),
    (
        "str_replace_based_edit_tool",
        {"command": "view", "path": "/a b.txt", "view_range": [2, 5]},
        Run(command="sed -n '2,5p' -- '/a b.txt'"),
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "view", "path": "/a", "view_range": [2, -1]},
        Run(command="sed -n '2,$p' -- /a"),
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "create", "path": "/a", "file_text": "x\n"},
        WriteFile(path="/a", content="x\n"),
    ),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"},
        EditFile(path="/a", old="x", new="y"),
    ),
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "/a", "old_str": "x"},
        EditFile(path="/a", old="x", new=""),
    ),
    ("bash", {"restart": True}, Run(command="exit")),
    ("bash", {"command": "ls", "restart": False}, Run(command="ls")),
]


@pytest.mark.parametrize(("tool", "call", "action"), FILES)
def test_commands_and_files_are_read(tool: str, call: dict[str, object], action: Action) -> None:
    assert read("anthropic", call, FRAME) == (action,)
    assert read("anthropic", {"type": "tool_use", "name": tool, "input": call}, FRAME) == (action,)


def test_a_zoom_says_which_part_of_the_screenshot() -> None:
    # shown at half its size
    view = View(frame=shown_at((2560, 1600), (1280, 800)))
    assert zoom_region({"action": "zoom", "region": [100, 200, 400, 350]}, view) == (200, 400, 800, 700)
    assert zoom_region({"action": "zoom", "region": [0, 0, 1280, 800]}, view) == (0, 0, 2560, 1600)
    assert zoom_region({"action": "screenshot"}, view) is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("no JSON", "is no JSON"),
        (3, "must be an object"),
        ({}, "has an action, a command, or a name"),
        ({"action": "left_clik", "coordinate": [1, 2]}, "did you mean left_click"),
        ({"name": "bsh", "input": {"command": "ls"}}, "did you mean bash"),
        ({"name": "computer", "input": [1]}, "must be an object with fields"),
        ({"action": "left_click", "coordinates": [1, 2]}, "did you mean coordinate"),
        ({"action": "left_click", "coordinate": [1]}, "a list of 2 numbers"),
        ({"action": "left_click", "coordinate": ["a", 2]}, "must be a number"),
        ({"action": "left_click", "coordinate": [float("nan"), 2]}, "must be a number"),
        ({"action": "left_click", "coordinate": [10**400, 2]}, "must be a number up to"),
        ({"action": "mouse_move"}, "coordinate of mouse_move"),
        ({"action": "key"}, "text of key must be a text"),
        ({"action": "key", "text": " "}, "name of a key"),
        ({"action": "key", "text": "a", "repeat": 101}, "a repeat of 1 to 100"),
        ({"action": "scroll", "scroll_direction": "down", "scroll_amount": 3}, "does not say where"),
        (
            {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "dwon", "scroll_amount": 3},
            "did you mean down",
        ),
        (
            {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": -1},
            "of at least 0",
        ),
        ({"action": "zoom", "region": [4, 4, 2, 2]}, "and not empty"),
        ({"restart": False}, "command of bash"),
        ({"command": "insert", "path": "/a", "insert_line": 1, "new_str": "x"}, "insert has no counterpart"),
        ({"command": "undo_edit", "path": "/a"}, "undo_edit has no counterpart"),
        ({"command": "crate", "path": "/a"}, "did you mean create"),
        ({"command": "view", "path": "/a", "view_range": [0, 3]}, "view_range must be"),
    ],
)
def test_wrong_calls_are_refused(call: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read("anthropic", call, FRAME)


def test_versions_write_the_same_click_each_in_its_way() -> None:
    click = Click(x=640, y=400)
    in_block = {"name": "computer", "input": {"action": "left_click", "coordinate": [640, 400]}}
    assert write("anthropic_20250124", click, FRAME) == (in_block,)
    assert write("anthropic_20251124", click, FRAME) == (in_block,)
    assert write("anthropic", click, FRAME) == (
        {"name": "left_click", "toolset_name": "computer", "input": {"coordinate": [640, 400]}},
    )
    assert write("anthropic_20241022", click, FRAME) == (
        {"name": "computer", "input": {"action": "mouse_move", "coordinate": [640, 400]}},
        {"name": "computer", "input": {"action": "left_click"}},
    )


@pytest.mark.parametrize(
    ("action", "inputs"),
    [
        (
            Drag(path=((1, 2), (3, 4))),
            [{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}],
        ),
        (
            Drag(path=((1, 2), (3, 4), (5, 6))),
            [
                {"action": "mouse_move", "coordinate": [1, 2]},
                {"action": "left_mouse_down"},
                {"action": "mouse_move", "coordinate": [3, 4]},
                {"action": "mouse_move", "coordinate": [5, 6]},
                {"action": "left_mouse_up"},
            ],
        ),
        (
            Scroll(x=1, y=2, dx_px=-120, dy_px=20),
            [
                {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "down", "scroll_amount": 1},
                {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "left", "scroll_amount": 1},
            ],
        ),
        (Scroll(x=1, y=2), [{"action": "mouse_move", "coordinate": [1, 2]}]),
        (Press(keys=("Control", "+")), [{"action": "key", "text": "ctrl+plus"}]),
        (Wait(seconds=0), [{"action": "screenshot"}]),
        (Wait(seconds=1.5), [{"action": "wait", "duration": 1.5}]),
    ],
)
def test_actions_are_written(action: Action, inputs: list[dict[str, object]]) -> None:
    assert [call["input"] for call in write("anthropic_20251124", action, FRAME)] == inputs


def test_the_toolset_waits_whole_seconds() -> None:
    (call,) = write("anthropic", Wait(seconds=1.2), FRAME)
    assert call == {"name": "wait", "toolset_name": "computer", "input": {"duration": 2}}


def test_the_editor_changed_its_name() -> None:
    names = [
        write(dialect, ReadFile(path="/a"), FRAME)[0]["name"]
        for dialect in ("anthropic_20241022", "anthropic_20250124", "anthropic_20251124", "anthropic")
    ]
    assert names == ["str_replace_editor"] * 2 + ["str_replace_based_edit_tool"] * 2


@pytest.mark.parametrize(
    ("dialect", "action", "said"),
    [
        ("anthropic_20241022", Wait(seconds=1), "has no wait: later ones have"),
        ("anthropic_20241022", Scroll(x=1, y=2, dy_px=100), "has no scroll"),
        ("anthropic_20241022", Click(x=1, y=2, count=3), "has no triple_click"),
        ("anthropic", Click(x=1, y=2, button="right", count=2), "no call for this Click"),
        ("anthropic", PointerDown(button="right"), "no call for this PointerDown"),
        ("anthropic", KeyDown(key="a"), "no call for this KeyDown"),
        ("anthropic", Finish(), "no call for this Finish"),
    ],
)
def test_what_the_tools_cannot_say_is_refused(dialect: str, action: Action, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        write(dialect, action, FRAME)
