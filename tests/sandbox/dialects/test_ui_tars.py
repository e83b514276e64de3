"""UI-TARS's replies.

The recorded places are what the published reader (`ui-tars` 0.5.1 on PyPI, `parse_action_to_structure_output`
and `parsing_response_to_pyautogui_code`) itself makes of these replies on a screen of 1920 x 1080: fractions
of a pixel there, the nearest pixel here. The calls are those of its `prompt.py` and of version 1.0's model
cards.
"""

from __future__ import annotations

import pytest

from deskhand_sandbox.dialects import read, usual_frame, write
from deskhand_sandbox.dialects.coordinates import pixels, thousandths
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    AskUser,
    Click,
    Drag,
    Fail,
    Finish,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    OpenApp,
    PointerDown,
    PointerUp,
    Press,
    Run,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
)

SCREEN = (1920, 1080)
FRAME = pixels(SCREEN)

RECORDED = [
    ("Thought: test\nAction: click(point='<point>200 300</point>')", (198.758, 296.703), (384.0, 324.0)),
    ("Thought: x\nAction: click(start_box='(197,525)')", (195.776, 519.231), (378.24, 567.0)),
    (
        "Action: click(start_box='<|box_start|>(197,525)<|box_end|>')",
        (195.776, 519.231),
        (378.24, 567.0),
    ),
    (
        "Reflection: none\nAction_Summary: click it\nAction: click(start_box='(197,525)')",
        (195.776, 519.231),
        (378.24, 567.0),
    ),
]


@pytest.mark.parametrize(("reply", "resized", "relative"), RECORDED)
def test_places_are_those_of_the_published_reader(
    reply: str, resized: tuple[float, float], relative: tuple[float, float]
) -> None:
    for frame, (x, y) in (
        (usual_frame("ui_tars", SCREEN), resized),
        (usual_frame("ui_tars_1_0", SCREEN), relative),
    ):
        assert read("ui_tars", reply, frame) == (Click(x=round(x), y=round(y)),)


def test_the_usual_frames_are_the_resized_picture_and_thousandths() -> None:
    assert usual_frame("ui_tars", SCREEN).extent == (1932, 1092)
    assert usual_frame("ui_tars_mobile", SCREEN) == usual_frame("ui_tars", SCREEN)
    assert usual_frame("ui_tars_1_0", SCREEN) == thousandths(SCREEN)
    assert usual_frame("ui_tars_mobile_1_0", SCREEN) == thousandths(SCREEN)


COMPUTER: list[tuple[str, Action]] = [
    ("click(point='<point>10 20</point>')", Click(x=10, y=20)),
    ("left_single(start_box='(10,20)')", Click(x=10, y=20)),
    ("click(start_box='[10, 20, 30, 60]')", Click(x=20, y=40)),
    ("click(start_box=[10, 20, 30, 60])", Click(x=20, y=40)),
    ("click(start_box='<bbox>10 20 30 60</bbox>')", Click(x=20, y=40)),
    ("left_double(point='<point>10 20</point>')", Click(x=10, y=20, count=2)),
    ("right_single(point='<point>10 20</point>')", Click(x=10, y=20, button="right")),
    ("hover(start_box='(10,20)')", MovePointer(x=10, y=20)),
    ("move_to(point='<point>10 20</point>')", MovePointer(x=10, y=20)),
    (
        "drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')",
        Drag(path=((1, 2), (3, 4))),
    ),
    (
        "select(start_box='<|box_start|>(1,2)<|box_end|>', end_box='<|box_start|>(3,4)<|box_end|>')",
        Drag(path=((1, 2), (3, 4))),
    ),
    ("hotkey(key='ctrl c')", Press(keys=("Control", "c"))),
    ("hotkey(key='ctrl+shift+t')", Press(keys=("Control", "Shift", "t"))),
    ("hotkey(key='Ctrl A')", Press(keys=("Control", "a"))),
    ("hotkey(hotkey='alt f4')", Press(keys=("Alt", "F4"))),
    ("hotkey(key='arrowleft')", Press(keys=("ArrowLeft",))),
    ("hotkey(key='space')", Press(keys=(" ",))),
    ("hotkey(key='pagedown')", Press(keys=("PageDown",))),
    ("press(key='shift')", KeyDown(key="Shift")),
    ("keyup(key='shift')", KeyUp(key="Shift")),
    ("mouse_down()", PointerDown()),
    ("mouse_up(button='right')", PointerUp(button="right")),
    ("type(content='Ada\\n')", TypeText(text="Ada\n")),
    (r"type(content='it\'s \"so\"')", TypeText(text='it\'s "so"')),
    ("type(content='it's so')", TypeText(text="it's so")),
    ('type(content="it\'s so")', TypeText(text="it's so")),
    ("type(content='Action: none')", TypeText(text="Action: none")),
    ("type(content='two\nlines')", TypeText(text="two\nlines")),
    ("type(content='C:\\Users\\x')", TypeText(text="C:\\Users\\x")),
    ("scroll(point='<point>10 20</point>', direction='down')", Scroll(x=10, y=20, dy_px=500)),
    ("scroll(start_box='(10,20)', direction='left')", Scroll(x=10, y=20, dx_px=-500)),
    ("scroll(direction='up')", Scroll(x=7, y=8, dy_px=-500)),
    ("scroll(start_box='(800,200)', end_box='(200,800)')", Drag(path=((800, 200), (200, 800)))),
    ("wait()", Wait(seconds=5.0)),
    ("wait(time=2)", Wait(seconds=2.0)),
    ("wait(time='')", Wait(seconds=5.0)),
    ("take_screenshot()", Wait(seconds=0.0)),
    ("finished()", Finish()),
    ("finished(content='it's done')", Finish(text="it's done")),
    ("call_user()", AskUser(question="")),
    ("call_user(content='Which one?')", AskUser(question="Which one?")),
]


@pytest.mark.parametrize(("call", "action"), COMPUTER)
@pytest.mark.parametrize("before", ["", "Action: ", "Thought: Action: is the word.\nAction: "])
def test_calls_for_computers_are_read(before: str, call: str, action: Action) -> None:
    assert read("ui_tars", before + call, FRAME, pointer=(7, 8)) == (action,)


MOBILE: list[tuple[str, Action]] = [
    ("click(point='<point>10 20</point>')", Touch(x=10, y=20)),
    ("long_press(point='<point>10 20</point>')", Touch(x=10, y=20, hold_ms=800)),
    ("long_press(start_box='<|box_start|>(10,20)<|box_end|>', time='')", Touch(x=10, y=20, hold_ms=800)),
    ("long_press(start_box='(10,20)', time='2')", Touch(x=10, y=20, hold_ms=2000)),
    ("type(content='hi')", TypeText(text="hi")),
    ("scroll(point='<point>10 20</point>', direction='down')", Scroll(x=10, y=20, dy_px=500)),
    ("scroll(start_box='(800,200)', end_box='(200,800)')", Swipe(path=((800, 200), (200, 800)))),
    ("open_app(app_name='Clock')", OpenApp(name="Clock")),
    (
        "drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')",
        Swipe(path=((1, 2), (3, 4))),
    ),
    ("press_home()", History(to="home")),
    ("press_back()", History(to="back")),
    ("finished(content='ok')", Finish(text="ok")),
    ("wait()", Wait(seconds=5.0)),
]


@pytest.mark.parametrize(("call", "action"), MOBILE)
def test_calls_for_touch_screens_are_read(call: str, action: Action) -> None:
    assert read("ui_tars_mobile", f"Thought: x\nAction: {call}", FRAME) == (action,)


def test_several_calls_in_one_reply_are_read_in_order_and_move_the_pointer() -> None:
    reply = "Thought: x\nAction: click(start_box='(10,20)')\n\ntype(content='a')\n\nscroll(direction='down')"
    assert read("ui_tars", reply, FRAME) == (
        Click(x=10, y=20),
        TypeText(text="a"),
        Scroll(x=10, y=20, dy_px=500),
    )


@pytest.mark.parametrize(
    ("dialect", "reply", "said"),
    [
        ("ui_tars", "Thought: I do not know.", "expected"),
        ("ui_tars", "", "expected"),
        ("ui_tars", {"action": "click"}, "is text, not dict"),
        ("ui_tars", "clik(point='<point>1 2</point>')", "did you mean click"),
        ("ui_tars", "press_home()", "unknown action of UI-TARS"),
        ("ui_tars_mobile", "hotkey(key='ctrl c')", "unknown action of UI-TARS"),
        ("ui_tars", "click()", "point of click.* must be a place"),
        ("ui_tars", "click(point='<point>1</point>')", "must be a place"),
        ("ui_tars", "click(point='<point>1 2 3</point>')", "must be a place"),
        ("ui_tars", "click(point='here')", "must be a place"),
        ("ui_tars", "click(point='<point>1 2</point>', speed=3)", "unknown field 'speed'"),
        ("ui_tars", "drag(start_point='<point>1 2</point>')", "end_point of drag"),
        ("ui_tars", "hotkey(key='')", "names of keys"),
        ("ui_tars", "press(key='ctrl c')", "must be one key"),
        ("ui_tars", "scroll(direction='down')", "does not say where"),
        ("ui_tars", "scroll(point='<point>1 2</point>', direction='dow')", "did you mean down"),
        ("ui_tars", "wait(time='long')", "must be seconds"),
        ("ui_tars", "wait(time=-1)", "must be seconds"),
        ("ui_tars", "type()", "content of type.* must be a text"),
    ],
)
def test_other_replies_are_refused(dialect: str, reply: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read(dialect, reply, FRAME)


def test_a_place_of_blanks_is_refused_at_once() -> None:
    with pytest.raises(InvalidAction, match="a place such as"):
        read("ui_tars", f"Action: click(point='{' ' * 100_000}')", FRAME)


def test_the_two_spellings() -> None:
    click, drag = Click(x=960, y=540), Drag(path=((0, 0), (960, 540)))
    new, old = usual_frame("ui_tars", SCREEN), usual_frame("ui_tars_1_0", SCREEN)
    assert write("ui_tars", click, new) == ("click(point='<point>966 546</point>')",)
    assert write("ui_tars_1_0", click, old) == ("click(start_box='<|box_start|>(500,500)<|box_end|>')",)
    assert write("ui_tars", drag, new) == (
        "drag(start_point='<point>0 0</point>', end_point='<point>966 546</point>')",
    )
    assert write("ui_tars_1_0", drag, old) == (
        "drag(start_box='<|box_start|>(0,0)<|box_end|>', end_box='<|box_start|>(500,500)<|box_end|>')",
    )
    assert write("ui_tars_mobile_1_0", Touch(x=960, y=540, hold_ms=900), old) == (
        "long_press(start_box='<|box_start|>(500,500)<|box_end|>')",
    )


def test_longer_turns_of_the_wheel_are_several_calls() -> None:
    down = "scroll(point='<point>1 2</point>', direction='down')"
    right = "scroll(point='<point>1 2</point>', direction='right')"
    assert write("ui_tars", Scroll(x=1, y=2, dy_px=1000, dx_px=100), FRAME) == (down, down, right)


@pytest.mark.parametrize(
    ("dialect", "action", "said"),
    [
        ("ui_tars", Click(x=1, y=2, count=3), "computers has no call for this Click"),
        ("ui_tars", Click(x=1, y=2, button="middle"), "no call for this Click"),
        ("ui_tars", Drag(path=((1, 2), (3, 4), (5, 6))), "no call for this Drag"),
        ("ui_tars", Touch(x=1, y=2), "no call for this Touch"),
        ("ui_tars", Run(command="ls"), "no call for this Run"),
        ("ui_tars", Fail(reason="no"), "no call for this Fail"),
        ("ui_tars_mobile", Click(x=1, y=2), "touch screens has no call for this Click"),
        ("ui_tars_mobile", Press(keys=("Control", "c")), "no call for this Press"),
        ("ui_tars_mobile", History(to="reload"), "no call for this History"),
    ],
)
def test_what_the_grammar_cannot_say_is_refused(dialect: str, action: Action, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        write(dialect, action, FRAME)
