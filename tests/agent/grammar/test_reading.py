from __future__ import annotations

import pytest

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import parse_reply
from deskhand_sandbox.types import (
    Action,
    AskUser,
    Click,
    Drag,
    History,
    KeyDown,
    MovePointer,
    PointerDown,
    Scroll,
    Swipe,
    Tab,
    Touch,
    TypeText,
    Wait,
)

AT = "point='<point>10 20</point>'"


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        (f"left_double({AT})", [Click(x=10, y=20, count=2)]),
        (f"right_single({AT})", [Click(x=10, y=20, button="right")]),
        (f"click({AT}, count=3)", [Click(x=10, y=20, count=3)]),
        ("click(start_box='(10,20)')", [Click(x=10, y=20)]),
        ("click(point='10, 20')", [Click(x=10, y=20)]),
        ("click(point='<point> -1  20 </point>')", [Click(x=-1, y=20)]),
        (f"mouse_down({AT}, button='right')", [MovePointer(x=10, y=20), PointerDown(button="right")]),
        (
            "drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')",
            [Drag(path=((1, 2), (3, 4)))],
        ),
        ("drag(start_box='(1,2)', end_box='(3,4)')", [Drag(path=((1, 2), (3, 4)))]),
        (
            "swipe(path='<point>1 2</point> <point>3 4</point><point>5 6</point>')",
            [Swipe(path=((1, 2), (3, 4), (5, 6)))],
        ),
        (f"scroll({AT}, direction='up')", [Scroll(x=10, y=20, dy_px=-300)]),
        (f"scroll({AT}, dx=40)", [Scroll(x=10, y=20, dx_px=40)]),
        (f"long_press({AT})", [Touch(x=10, y=20, hold_ms=800)]),
        ("type(content='a\\n')", [TypeText(text="a\n")]),
        ("press(key='shift')", [KeyDown(key="Shift")]),
        ("wait()", [Wait(seconds=1.0)]),
        ("wait(time=5)", [Wait(seconds=5.0)]),
        ("press_back()", [History(to="back")]),
        ("press_home()", [History(to="home")]),
        ("focus_tab(index=2)", [Tab(do="focus", index=2)]),
        ("call_user()", [AskUser(question="")]),
    ],
)
def test_what_calls_mean(text: str, actions: list[Action]) -> None:
    assert list(parse_reply(text).actions) == actions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("click()", "point='<point>x y</point>'"),
        ("click(point='<point>1.5 2</point>')", "point='<point>x y</point>'"),
        ("click(point='<point>1 2</point>', count=0)", "count of at least 1"),
        ("click(point='<point>1 2</point>', butn='left')", "no argument named butn"),
        ("drag(path='<point>1 2</point>')", "two points or more"),
        ("drag(path='<point>1 2</point><point>3 4</point> x')", "two points or more"),
        ("drag(start_point='<point>1 2</point>')", "end_point="),
        ("drag(start_point='1 2', end_point='3 4', button='far')", "button='left', 'middle' or 'right'"),
        ("scroll(point='1 2', direction='in')", "direction="),
        ("scroll(point='1 2', direction='up', dx=3)", "no argument named dx"),
        ("scroll(point='1 2')", "'left' or 'right', or dx=0, dy=500"),
        ("type()", "content='text'"),
        ("type(content=3)", "content='text'"),
        ("hotkey(key='')", "at least one key"),
        ("hotkey(keys=[1])", "key='ctrl c'"),
        ("press(key='a b')", "one key"),
        ("wait(time=-1)", "time=seconds"),
        ("wait(time='long')", "time=seconds"),
        ("focus_tab(index='x')", "index=whole number"),
        ("call_tool(name='x', arguments=[1])", "arguments={…}"),
    ],
)
def test_wrong_arguments_are_named(text: str, expected: str) -> None:
    with pytest.raises(ActionSyntaxError) as caught:
        parse_reply(text)
    assert expected in str(caught.value)
