"""Every action has words of its own."""

from __future__ import annotations

from typing import get_args

import pytest

from deskhand_flywheel.replay.actions import describe
from deskhand_sandbox.types import (
    Action,
    Answer,
    AnswerDialog,
    AskUser,
    CallTool,
    Click,
    Drag,
    EditFile,
    Fail,
    Fetch,
    Finish,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    OpenApp,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Swipe,
    Tab,
    Touch,
    TypeText,
    Upload,
    Wait,
    WriteFile,
    Zoom,
)

SAID: list[tuple[Action, str]] = [
    (Click(x=40, y=52), "click at 40, 52"),
    (Click(x=40, y=52, count=2), "double click at 40, 52"),
    (Click(x=1, y=2, button="right", count=4), "right 4 clicks at 1, 2"),
    (MovePointer(x=1, y=2), "move to 1, 2"),
    (PointerDown(), "press the left button"),
    (PointerUp(button="middle"), "release the middle button"),
    (Drag(path=((1, 2), (3, 4))), "drag 1, 2 → 3, 4"),
    (Scroll(x=5, y=6, dy_px=300), "scroll 300 px down at 5, 6"),
    (Scroll(x=5, y=6, dx_px=-10, dy_px=-20), "scroll 20 px up and 10 px left at 5, 6"),
    (Scroll(x=5, y=6), "scroll nowhere at 5, 6"),
    (Touch(x=1, y=2), "tap at 1, 2"),
    (Touch(x=1, y=2, hold_ms=800), "long press at 1, 2"),
    (Swipe(path=((1, 2), (3, 4))), "swipe 1, 2 → 3, 4"),
    (TypeText(text="hi\n"), "type “hi⏎”"),
    (Press(keys=("Control", "c")), "press Control + c"),
    (KeyDown(key="Shift"), "hold Shift"),
    (KeyUp(key="Shift"), "release Shift"),
    (Wait(seconds=1.5), "wait 1.5 s"),
    (Navigate(url="http://a/"), "go to http://a/"),
    (History(to="back"), "go back"),
    (Tab(do="focus", index=2), "focus tab 2"),
    (Upload(x=1, y=2, paths=("a.txt", "b.txt")), "upload a.txt, b.txt at 1, 2"),
    (AnswerDialog(text="Ada"), "accept the dialog with “Ada”"),
    (AnswerDialog(accept=False), "dismiss the dialog"),
    (EditFile(path="a", old="x", new="y"), "in a replace “x” by “y”"),
    (Fetch(url="http://a/"), "fetch http://a/"),
    (Fetch(url="http://a/", method="POST", body="x"), "fetch POST http://a/"),
    (Tab(do="open"), "open tab"),
    (OpenApp(name="Files"), "open Files"),
    (Run(command="ls"), "run ls"),
    (ReadFile(path="/a"), "read /a"),
    (WriteFile(path="/a", content="abc"), "write /a (3 characters)"),
    (CallTool(name="find", arguments={"q": "é"}), 'call find({"q": "é"})'),
    (Answer(text="42"), "answer “42”"),
    (Finish(), "finish"),
    (Finish(text="done"), "finish “done”"),
    (Fail(reason="no such page"), "give up: no such page"),
    (AskUser(question="Which?"), "ask “Which?”"),
    (Zoom(start=(1, 2), end=(30, 40)), "look closer at 1, 2 to 30, 40"),
]


@pytest.mark.parametrize(("action", "said"), SAID, ids=[said for _, said in SAID])
def test_an_action_in_words(action: Action, said: str) -> None:
    assert describe(action) == said


def test_no_action_is_left_out() -> None:
    assert {type(action) for action, _ in SAID} == set(get_args(Action))
