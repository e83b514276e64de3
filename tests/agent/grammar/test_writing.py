from __future__ import annotations

import pytest

from deskhand_agent.grammar.writing import write_action
from deskhand_sandbox.types import (
    Action,
    CallTool,
    Click,
    Drag,
    Fail,
    Finish,
    Press,
    Run,
    Scroll,
    Tab,
    Touch,
    TypeText,
    Wait,
)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Click(x=1, y=2), "click(point='<point>1 2</point>')"),
        (Click(x=1, y=2, count=2), "left_double(point='<point>1 2</point>')"),
        (Click(x=1, y=2, button="right", count=2), "right_single(point='<point>1 2</point>', count=2)"),
        (
            Drag(path=((1, 2), (3, 4))),
            "drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')",
        ),
        (
            Drag(path=((1, 2), (3, 4), (5, 6)), button="middle"),
            "drag(path='<point>1 2</point><point>3 4</point><point>5 6</point>', button='middle')",
        ),
        (Scroll(x=1, y=2, dy_px=300), "scroll(point='<point>1 2</point>', direction='down')"),
        (Scroll(x=1, y=2, dy_px=-120), "scroll(point='<point>1 2</point>', dx=0, dy=-120)"),
        (Touch(x=1, y=2), "tap(point='<point>1 2</point>')"),
        (TypeText(text="Ada's\n"), r"type(content='Ada\'s\n')"),
        (Press(keys=("Control", "c")), "hotkey(key='ctrl c')"),
        (Wait(), "wait()"),
        (Wait(seconds=2.5), "wait(time=2.5)"),
        (Tab(do="close"), "close_tab()"),
        (Run(command="ls"), "run(command='ls')"),
        (CallTool(name="f", arguments={"a": [1]}), """call_tool(name='f', arguments={"a": [1]})"""),
        (Finish(), "finished()"),
        (Fail(reason="no"), "fail(reason='no')"),
    ],
)
def test_canonical_forms(action: Action, text: str) -> None:
    assert write_action(action) == text
