"""BrowserGym's calls.

The recorded calls are the examples in the docstrings of `browsergym.core.action.functions` (browsergym-core
0.14.3), which its prompts show to models.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from deskhand_sandbox.dialects import read, write
from deskhand_sandbox.dialects.coordinates import hidpi, pixels
from deskhand_sandbox.dialects.dialect import Choice, Option
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Drag,
    Fail,
    Finish,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Tab,
    Touch,
    TypeText,
    Upload,
    Wait,
)

FRAME = pixels((1280, 720))
BOXES = {
    **dict.fromkeys(("a51", "b22", "48", "12", "237", "45", "56", "b8", "88", "996"), (10, 20, 30, 60)),
    "572": (10, 20, 30, 60),
    "498": (100.5, 200.5, 300.5, 400.5),
}
MIDDLE = (20, 40)
CLICK = Click(x=20, y=40)
SELECT_ALL = Press(keys=("Control", "a"))

RECORDED: list[tuple[str, tuple[Action, ...]]] = [
    ("noop()", (Wait(seconds=1.0),)),
    ("noop(500)", (Wait(seconds=0.5),)),
    (
        'send_msg_to_user("Based on the results of my search, the city was built in 1751.")',
        (Answer(text="Based on the results of my search, the city was built in 1751."),),
    ),
    ('report_infeasible("There is no email field.")', (Fail(reason="There is no email field."),)),
    ("click('a51')", (CLICK,)),
    ("click('b22', button=\"right\")", (Click(x=20, y=40, button="right"),)),
    (
        'click(\'48\', button="middle", modifiers=["Shift"])',
        (KeyDown(key="Shift"), Click(x=20, y=40, button="middle"), KeyUp(key="Shift")),
    ),
    (
        "click('48', 'left', ['ControlOrMeta', 'Alt'])",
        (KeyDown(key="Control"), KeyDown(key="Alt"), CLICK, KeyUp(key="Alt"), KeyUp(key="Control")),
    ),
    ("click('48', modifiers='Shift')", (KeyDown(key="Shift"), CLICK, KeyUp(key="Shift"))),
    ("dblclick('12')", (Click(x=20, y=40, count=2),)),
    ("hover('b8')", (MovePointer(x=20, y=40),)),
    ("focus('b8')", (CLICK,)),
    (
        "fill('237', 'example value')",
        (CLICK, SELECT_ALL, Press(keys=("Delete",)), TypeText(text="example value")),
    ),
    (
        "fill('45', \"multi-line\\nexample\", enable_autocomplete_menu=True)",
        (CLICK, SELECT_ALL, Press(keys=("Delete",)), TypeText(text="multi-line\nexample")),
    ),
    ("fill('45', '')", (CLICK, SELECT_ALL, Press(keys=("Delete",)))),
    ("clear('996')", (CLICK, SELECT_ALL, Press(keys=("Delete",)))),
    ("press('88', 'Backspace')", (CLICK, Press(keys=("Backspace",)))),
    ("drag_and_drop('56', '498')", (Drag(path=(MIDDLE, (201, 301))),)),
    ('upload_file("572", "my_receipt.pdf")', (Upload(x=20, y=40, paths=("my_receipt.pdf",)),)),
    ("scroll(0, 200)", (Scroll(x=7, y=8, dy_px=200),)),
    ("scroll(-50.2, -100.5)", (Scroll(x=7, y=8, dx_px=-50, dy_px=-100),)),
    ("scroll_at(10, 20, 0, 300)", (Scroll(x=10, y=20, dy_px=300),)),
    ("mouse_move(65.2, 158.5)", (MovePointer(x=65, y=159),)),
    ("mouse_up(250, 120)", (MovePointer(x=250, y=120), PointerUp())),
    ("mouse_up(47, 252, 'right')", (MovePointer(x=47, y=252), PointerUp(button="right"))),
    ("mouse_down(140.2, 580.1)", (MovePointer(x=140, y=580), PointerDown())),
    ("mouse_click(887.2, 68)", (Click(x=887, y=68),)),
    ("mouse_click(56, 712.56, 'right')", (Click(x=56, y=713, button="right"),)),
    ("mouse_dblclick(5, 236)", (Click(x=5, y=236, count=2),)),
    ("mouse_drag_and_drop(10.7, 325, 235.6, 24.54)", (Drag(path=((11, 325), (236, 25))),)),
    (
        'mouse_upload_file(328, 612, ["/home/bob/Documents/image.jpg", "/home/bob/Documents/file.zip"])',
        (Upload(x=328, y=612, paths=("/home/bob/Documents/image.jpg", "/home/bob/Documents/file.zip")),),
    ),
    ("keyboard_press('Backspace')", (Press(keys=("Backspace",)),)),
    ("keyboard_press('Control+a')", (Press(keys=("Control", "a")),)),
    ("keyboard_press('Control+A')", (Press(keys=("Control", "a")),)),
    ("keyboard_press('Meta+Shift+t')", (Press(keys=("Meta", "Shift", "t")),)),
    ("keyboard_press('ControlOrMeta+KeyC')", (Press(keys=("Control", "c")),)),
    ("keyboard_press('Control++')", (Press(keys=("Control", "+")),)),
    ("keyboard_down('ShiftLeft')", (KeyDown(key="Shift"),)),
    ("keyboard_up('c')", (KeyUp(key="c"),)),
    ("keyboard_type('Hello world!')", (TypeText(text="Hello world!"),)),
    ("keyboard_insert_text('C:\\dir')", (TypeText(text="C:\\dir"),)),
    ("goto('http://www.example.com')", (Navigate(url="http://www.example.com"),)),
    ("go_back()", (History(to="back"),)),
    ("go_forward()", (History(to="forward"),)),
    ("new_tab()", (Tab(do="open"),)),
    ("tab_focus(2)", (Tab(do="focus", index=2),)),
    ("tab_close()", (Tab(do="close"),)),
    ("# first\nclick('a51')\n\nscroll(0, 9)  # then", (CLICK, Scroll(x=20, y=40, dy_px=9))),
]


@pytest.mark.parametrize(("calls", "actions"), RECORDED)
def test_calls_are_read(calls: str, actions: tuple[Action, ...]) -> None:
    assert read("browsergym", calls, FRAME, pointer=(7, 8), boxes=BOXES) == actions


def test_what_is_to_be_ticked_is_clicked_where_it_is_not() -> None:
    for calls, checked, actions in (
        ("check('b8')", (), (CLICK,)),
        ("check('b8')", ("b8",), ()),
        ("uncheck('b8')", ("b8",), (CLICK,)),
        ("uncheck('b8')", (), ()),
    ):
        assert read("browsergym", calls, FRAME, boxes=BOXES, checked=checked) == actions


CITIES = ("Rome", "New York City", "Oslo", "New York", "Århus")
CHOICES = {
    "b8": Choice(
        options=tuple(Option(label=city, enabled=city != "Oslo") for city in CITIES), drops_down=True
    ),
    "88": Choice(
        options=(
            Option(label="a  tea", box=(1, 2, 3, 4)),
            Option(label="b", box=(5, 6, 5, 6)),
            Option(label="last"),
        )
    ),
}
DOWN, ENTER = Press(keys=("ArrowDown",)), Press(keys=("Enter",))


@pytest.mark.parametrize(
    ("call", "actions"),
    [
        ("select_option('b8', 'Rome')", (CLICK, TypeText(text="Rome"), ENTER)),
        ("select_option('b8', ['New York City'])", (CLICK, TypeText(text="New York City"), ENTER)),
        # another begins with it: step by step, past the one that is disabled
        ("select_option('b8', 'New York')", (CLICK, Press(keys=("Home",)), DOWN, DOWN, ENTER)),
        ("select_option('b8', 'Århus')", (CLICK, Press(keys=("Home",)), DOWN, DOWN, DOWN, ENTER)),
        ("select_option('88', 'a tea')", (Click(x=2, y=3),)),
        (
            "select_option('88', ['a tea', 'b'])",
            (Click(x=2, y=3), KeyDown(key="Control"), Click(x=5, y=6), KeyUp(key="Control")),
        ),
    ],
)
def test_options_are_chosen_by_their_labels(call: str, actions: tuple[Action, ...]) -> None:
    assert read("browsergym", call, FRAME, boxes=BOXES, choices=CHOICES) == actions


def test_a_list_that_is_open_is_not_clicked_again() -> None:
    opened = {"b8": replace(CHOICES["b8"], opened=True)}
    call = "select_option('b8', 'Rome')"
    assert read("browsergym", call, FRAME, boxes=BOXES, choices=opened) == (TypeText(text="Rome"), ENTER)


def test_boxes_and_places_are_in_css_pixels() -> None:
    frame = hidpi((2560, 1440), 2)
    assert read("browsergym", "click('498')", frame, boxes=BOXES) == (Click(x=401, y=601),)
    assert read("browsergym", "mouse_click(100.5, 10)", frame) == (Click(x=201, y=20),)
    assert write("browsergym", Click(x=201, y=20), frame) == ("mouse_click(100.5, 10.0)",)


def test_the_pointer_begins_in_the_corner() -> None:
    assert read("browsergym", "scroll(0, 200)", FRAME) == (Scroll(x=0, y=0, dy_px=200),)


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (["click('a51')"], "is text, not list"),
        ("", "1 to 1000 calls, not 0"),
        ("I would click there.", "is no Python"),
        ("clik('a51')", "did you mean click"),
        ("click('a5')", "did you mean a51"),
        ("click(a51)", "bid of click must be a plain value"),
        ("click('a51', 'left', [], 3)", "takes 3 arguments at most"),
        ("click('a51', bid='a51')", "each once, not bid"),
        ("click('a51', speed=2)", "takes bid, button, modifiers"),
        ("click(**{'bid': 'a51'})", r"not \*\*"),
        ("click(*['a51'])", "must be a plain value"),
        ("click()", "bid of click.* must be a text"),
        ("click('a51', button='lef')", "did you mean left"),
        ("mouse_click('a', 2)", "must be a number"),
        ("mouse_click(1, 1e999)", "must be a number up to"),
        ("tab_focus(1.5)", "a whole number"),
        ("keyboard_press('')", "names no keys"),
        ("upload_file('572', [])", "at least one file"),
        ("get_element_html('a51')", "acts on the document"),
        ("select_option('a51', 'blue')", "has no options on this screen"),
        ("select_option('z9', 'blue')", "unknown element"),
        ("select_option('b8', 'New Yrok')", "did you mean New York"),
        ("select_option('b8', 'Oslo')", "'Oslo' is disabled"),
        ("select_option('b8', ['Rome', 'New York'])", "one option is chosen"),
        ("select_option('b8', [])", "at least one option"),
        ("select_option('b8', 3)", "a list of texts"),
        ("select_option('88', 'last')", "off the screen: scroll"),
        ("check('z9')", "unknown element"),
        ("page.click('a51')", "is a call such as"),
        ("__import__('os').system('ls')", "is a call such as"),
        ("x = 1", "is a call such as"),
        ("click(open('x'))", "must be a plain value"),
        ("click({[]: 1})", "must be a plain value"),
        ("click('a51')\nimport os", "line 2"),
        ("click(" + "(" * 300 + ")" * 300 + ")", "is no Python|must be"),
    ],
)
def test_everything_else_is_refused(calls: object, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        read("browsergym", calls, FRAME, boxes=BOXES, choices=CHOICES)


@pytest.mark.parametrize(
    ("action", "calls"),
    [
        (Click(x=1, y=2), ("mouse_click(1, 2)",)),
        (Click(x=1, y=2, button="right", count=2), ("mouse_dblclick(1, 2, 'right')",)),
        (MovePointer(x=1, y=2), ("mouse_move(1, 2)",)),
        (PointerDown(button="middle"), ("mouse_down(7, 8, 'middle')",)),
        (PointerUp(), ("mouse_up(7, 8)",)),
        (Drag(path=((1, 2), (3, 4))), ("mouse_drag_and_drop(1, 2, 3, 4)",)),
        (
            Drag(path=((1, 2), (3, 4), (5, 6)), button="right"),
            ("mouse_down(1, 2, 'right')", "mouse_move(3, 4)", "mouse_up(5, 6, 'right')"),
        ),
        (Scroll(x=1, y=2, dy_px=9), ("scroll_at(1, 2, 0, 9)",)),
        (TypeText(text="it's\n"), ('keyboard_type("it\'s\\n")',)),
        (Press(keys=("Control", " ")), ("keyboard_press('Control+Space')",)),
        (Press(keys=("Control", "A")), ("keyboard_press('Control+Shift+a')",)),
        (Wait(seconds=0.5), ("noop(500)",)),
        (Upload(x=1, y=2, paths=("a",)), ("mouse_upload_file(1, 2, 'a')",)),
        (Upload(x=1, y=2, paths=("a", "b")), ("mouse_upload_file(1, 2, ['a', 'b'])",)),
        (Tab(do="focus", index=2), ("tab_focus(2)",)),
        (Answer(text="42"), ("send_msg_to_user('42')",)),
        (Fail(reason="no"), ("report_infeasible('no')",)),
    ],
)
def test_actions_are_written(action: Action, calls: tuple[str, ...]) -> None:
    assert write("browsergym", action, FRAME, pointer=(7, 8)) == calls


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Click(x=1, y=2, count=3), "no call for this Click"),
        (PointerDown(), "where the pointer is is not known"),
        (Drag(path=((1, 2),)), "at least two points"),
        (Tab(do="close", index=1), "no call for this Tab"),
        (History(to="reload"), "no call for this History"),
        (Touch(x=1, y=2), "no call for this Touch"),
        (Finish(), "no call for this Finish"),
    ],
)
def test_what_it_cannot_say_is_refused(action: Action, said: str) -> None:
    with pytest.raises(InvalidAction, match=said):
        write("browsergym", action, FRAME)
