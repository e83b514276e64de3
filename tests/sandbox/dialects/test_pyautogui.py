"""pyautogui scripts: recorded ones are read as they were meant, hostile ones are refused, ours read back."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_sandbox.dialects.pyautogui import read_script, write_script
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Button,
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


@pytest.mark.parametrize(
    ("script", "actions"),
    [
        ("WAIT", (Wait(seconds=2.0),)),
        (" FAIL\n", (Fail(),)),
        ("DONE", (Finish(),)),
        ("import pyautogui\npyautogui.click(960, 540)", (Click(x=960, y=540),)),
        ("pyautogui.click(x=10.7, y=20, clicks=2, interval=0.1)", (Click(x=10, y=20, count=2),)),
        ("pyautogui.click((30, 40), button='right')", (Click(x=30, y=40, button="right"),)),
        ("pyautogui.doubleClick(5, 6)", (Click(x=5, y=6, count=2),)),
        ("pyautogui.tripleClick(5, 6, duration=1)", (Click(x=5, y=6, count=3),)),
        ("pyautogui.rightClick(x=5, y=6)", (Click(x=5, y=6, button="right"),)),
        ("pyautogui.click()", (PointerDown(), PointerUp())),
        (
            "pyautogui.moveTo(100, 100)\npyautogui.dragTo(200, 150, duration=1, button='left')",
            (MovePointer(x=100, y=100), Drag(path=((100, 100), (200, 150)))),
        ),
        (
            "pyautogui.moveTo(100, 100); pyautogui.move(5, -5); pyautogui.drag(10, 0)",
            (MovePointer(x=100, y=100), MovePointer(x=105, y=95), Drag(path=((105, 95), (115, 95)))),
        ),
        ("pyautogui.dragTo(7, 8)", (PointerDown(), MovePointer(x=7, y=8), PointerUp())),
        ("pyautogui.scroll(-5, x=300, y=400)", (Scroll(x=300, y=400, dy_px=500),)),
        (
            "pyautogui.moveTo(9, 9)\npyautogui.hscroll(2)",
            (MovePointer(x=9, y=9), Scroll(x=9, y=9, dx_px=200)),
        ),
        ("pyautogui.typewrite('Hello, World!', interval=0.05)", (TypeText(text="Hello, World!"),)),
        ("pyautogui.write(['a', 'enter'])", (Press(keys=("a",)), Press(keys=("Enter",)))),
        ("pyautogui.press('return')", (Press(keys=("Enter",)),)),
        ("pyautogui.press(['left', 'esc'])", (Press(keys=("ArrowLeft",)), Press(keys=("Escape",)))),
        ("pyautogui.press('tab', presses=2)", (Press(keys=("Tab",)), Press(keys=("Tab",)))),
        ("pyautogui.hotkey('ctrl', 'shift', 't')", (Press(keys=("Control", "Shift", "t")),)),
        ("pyautogui.hotkey(['alt', 'f4'])", (Press(keys=("Alt", "F4")),)),
        ("keys = ['win', 'd']\npyautogui.hotkey(*keys)", (Press(keys=("Meta", "d")),)),
        (
            "pyautogui.moveTo(1, 2, 1, pyautogui.easeInQuad)\npyautogui.drag(3, 4, tween=pyautogui.linear)",
            (MovePointer(x=1, y=2), Drag(path=((1, 2), (4, 6)))),
        ),
        (
            "with pyautogui.hold('shift'):\n    pyautogui.press('left')",
            (KeyDown(key="Shift"), Press(keys=("ArrowLeft",)), KeyUp(key="Shift")),
        ),
        (
            "pyautogui.mouseDown(3, 4); pyautogui.mouseUp()",
            (MovePointer(x=3, y=4), PointerDown(), PointerUp()),
        ),
        (
            "import pyautogui as pg\nfrom time import sleep\npg.PAUSE = 1\nx, y = 10, 20\n"
            "for i in range(2):\n    pg.click(x + 5 * i, y // 2)\nsleep(0.5)",
            (Click(x=10, y=10), Click(x=15, y=10), Wait(seconds=0.5)),
        ),
        ("", ()),
    ],
)
def test_scripts_are_read_as_they_were_meant(script: str, actions: tuple[Action, ...]) -> None:
    assert read_script(script) == actions


def test_where_the_pointer_is_can_be_told() -> None:
    assert read_script("pyautogui.scroll(3)", pointer=(4, 5)) == (Scroll(x=4, y=5, dy_px=-300),)
    assert read_script("pyautogui.click(y=9)", pointer=(4, 5)) == (Click(x=4, y=9),)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("click the button", "no Python"),
        ("import os\nos.system('ls')", "line 1: cannot read the module os"),
        ("__import__('os').system('ls')", "line 1: cannot read a call of"),
        ("open('/etc/passwd').read()", "cannot read a call of"),
        ("pyautogui.screenshot('/tmp/x.png')", "cannot read a call of pyautogui.screenshot"),
        ("pyautogui.__init__()", "cannot read a call of pyautogui.__init__"),
        ("time.time()", "cannot read a call of time.time"),
        ("while True: pass", "cannot read while"),
        ("def f(): pass", "cannot read functiondef"),
        ("x = [i for i in range(9)]", "cannot read"),
        ("pyautogui.write('a' * 10**9)", "cannot read"),
        ("pyautogui.write('a' * 999999999)", "a text that long"),
        ("x = 'ab'\nfor i in range(60):\n    x = x + x", "a text that long"),
        ("pyautogui.write('%999999999d' % 5)", "formatting by %"),
        ("for i in range(10000000): pass", "more than 2000 rounds"),
        ("for i in range(2000):\n  for j in range(2000):\n    pass", "more than 20000 things"),
        ("for i in range(2000):\n  pyautogui.press(['a', 'b'])", "more than 2000 actions"),
        ("pyautogui.click(clicks=99999999)", "99999999 times is more than 2000"),
        ("pyautogui.scroll(3)", "does not say where"),
        ("pyautogui.click('here.png')", "needs numbers: pictures are not looked for"),
        ("pyautogui.click(True, 2)", "x of pyautogui.click must be a number"),
        ("pyautogui.click(1, 2, colour='red')", "takes no further argument 'colour'"),
        ("pyautogui.click(1, 2, button='side')", "'side' is no button"),
        ("pyautogui.click(1 / 0, 2)", "division by zero"),
        ("pyautogui.press(3)", "needs names of keys"),
        ("pyautogui.write(3)", "needs a text or a list of keys"),
        ("pyautogui.hotkey()", "needs keys"),
        ("pyautogui.click(*5)", r"cannot read arguments by \*"),
        ("x = pyautogui.size", "cannot read pyautogui.size"),
        ("with open('x'): pass", "cannot read a call of open"),
        ("with time.sleep(1): pass", "cannot read with time.sleep"),
        ("x, y = 1, 2, 3", "another length"),
        ("(" * 5000, "no Python"),
    ],
)
def test_what_is_no_pointer_key_or_time_is_refused(script: str, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read_script(script)


def test_what_pyautogui_lacks_is_refused() -> None:
    with pytest.raises(InvalidAction, match="no call for Answer"):
        write_script([Answer(text="42")])


sides = st.integers(0, 4000)
buttons: st.SearchStrategy[Button] = st.sampled_from(["left", "middle", "right"])
keys = st.sampled_from(["a", "ß", "Enter", "Control", "ArrowDown", "F5", " ", "Meta", "+"])
notches = st.integers(-20, 20).map(lambda n: n * 100)
written = st.one_of(
    st.builds(Click, x=sides, y=sides, button=buttons, count=st.integers(1, 3)),
    st.builds(MovePointer, x=sides, y=sides),
    st.builds(PointerDown, button=buttons),
    st.builds(PointerUp, button=buttons),
    st.builds(TypeText, text=st.text()),
    st.builds(Press, keys=st.lists(keys, min_size=1, max_size=4).map(tuple)),
    st.builds(KeyDown, key=keys),
    st.builds(KeyUp, key=keys),
    st.builds(Wait, seconds=st.floats(0, 600)),
    st.builds(Scroll, x=sides, y=sides, dy_px=notches.filter(bool)),
    st.builds(Scroll, x=sides, y=sides, dx_px=notches.filter(bool)),
)


@given(st.lists(written, max_size=20))
def test_what_is_written_reads_back(actions: list[Action]) -> None:
    assert list(read_script(write_script(actions))) == actions


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(InvalidAction):
        read_script(text)
