"""What holds for every dialect: found by name, same effect there and back, same pixel, one typed error."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskhand_sandbox.dialects import dialect_names, read, usual_frame, write, write_all
from deskhand_sandbox.dialects.coordinates import (
    CoordinateSystem,
    Frame,
    fractions,
    hidpi,
    pixels,
    shown_at,
    thousandths,
)
from deskhand_sandbox.dialects.key_names import PYAUTOGUI
from deskhand_sandbox.dialects.pointing import holding, pointer_after
from deskhand_sandbox.dialects.registry import find_dialect
from deskhand_sandbox.dialects.wheel import notches
from deskhand_sandbox.errors import InvalidAction, UnknownName
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
    Point,
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
)

NAMES = (
    "android_world",
    "anthropic",
    "anthropic_20241022",
    "anthropic_20250124",
    "anthropic_20251124",
    "browsergym",
    "computer_13",
    "openai",
    "pyautogui",
    "ui_tars",
    "ui_tars_1_0",
    "ui_tars_mobile",
    "ui_tars_mobile_1_0",
)
MEANT_ALIKE = tuple(name for name in NAMES if name != "android_world")
"""Dialects that say what was meant; AndroidWorld's scrolls and texts do more, by its own rules."""
SIZE = (1280, 720)
START = (3, 4)


# ---- by name


def test_names_are_these() -> None:
    assert dialect_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_dialect_is_there(name: str) -> None:
    assert find_dialect(name).frame(SIZE).screen_px == SIZE
    assert usual_frame(name, SIZE).screen_px == SIZE


def test_unknown_names_get_a_hint() -> None:
    for call in (
        lambda: read("ui_tras", "click()", pixels(SIZE)),
        lambda: write("ui_tras", Wait(), pixels(SIZE)),
        lambda: usual_frame("ui_tras", SIZE),
    ):
        with pytest.raises(UnknownName, match="unknown dialect 'ui_tras'; did you mean ui_tars"):
            call()


def test_nothing_of_a_dialect_is_imported_before_it_is_asked_for() -> None:
    code = (
        "import sys, deskhand_sandbox.dialects as d\n"
        "d.read('openai', {'type': 'wait'}, d.usual_frame('openai', (9, 9)))\n"
        "print(*sorted(m for m in sys.modules if m.startswith('deskhand_sandbox.dialects.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "dialects.openai" in loaded
    assert not any(name in loaded for name in ("ui_tars", "anthropic", "browsergym", "pyautogui", "android"))


# ---- the same effect


POINT = st.tuples(st.integers(0, SIZE[0] - 1), st.integers(0, SIZE[1] - 1))
BUTTON = st.sampled_from(["left", "middle", "right"])
KEY = st.sampled_from([*sorted(PYAUTOGUI), *"abcxyz019+-/<.,'\"\\"])
PATH = st.lists(POINT, min_size=2, max_size=4).map(tuple)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
FILE = st.text("abc/._ '", min_size=1, max_size=10)


def at(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.builds(
        lambda point, more: {"x": point[0], "y": point[1], **more}, POINT, st.fixed_dictionaries(fields)
    )


ACTIONS: st.SearchStrategy[Action] = st.one_of(
    at(button=BUTTON, count=st.integers(1, 3)).map(lambda each: Click(**each)),
    at().map(lambda each: MovePointer(**each)),
    st.builds(PointerDown, button=BUTTON),
    st.builds(PointerUp, button=BUTTON),
    st.builds(Drag, path=PATH, button=BUTTON),
    at(dx_px=st.integers(-900, 900), dy_px=st.integers(-900, 900)).map(lambda each: Scroll(**each)),
    at(hold_ms=st.sampled_from([50, 800])).map(lambda each: Touch(**each)),
    st.builds(Swipe, path=PATH),
    st.builds(TypeText, text=TEXT),
    st.builds(Press, keys=st.lists(KEY, min_size=1, max_size=3).map(tuple)),
    st.builds(KeyDown, key=KEY),
    st.builds(KeyUp, key=KEY),
    st.builds(Wait, seconds=st.sampled_from([0.0, 0.5, 2.0, 7.25])),
    st.builds(Navigate, url=TEXT),
    st.builds(History, to=st.sampled_from(["back", "forward", "reload", "home"])),
    st.builds(Tab, do=st.just("focus"), index=st.integers(0, 9)),
    st.builds(Tab, do=st.sampled_from(["open", "close"])),
    st.builds(OpenApp, name=TEXT),
    st.builds(Run, command=TEXT),
    st.builds(ReadFile, path=FILE),
    st.builds(WriteFile, path=FILE, content=TEXT),
    st.builds(EditFile, path=FILE, old=TEXT, new=TEXT),
    at(paths=st.lists(FILE, min_size=1, max_size=2).map(tuple)).map(lambda each: Upload(**each)),
    st.builds(Answer, text=TEXT),
    st.builds(Finish, text=TEXT),
    st.builds(Fail, reason=TEXT),
    st.builds(AskUser, question=TEXT),
    st.builds(AnswerDialog, accept=st.booleans(), text=TEXT),
    st.builds(Fetch, url=TEXT, body=TEXT),
    st.builds(CallTool, name=TEXT, arguments=st.dictionaries(TEXT, st.integers(), max_size=2)),
)

Event = tuple[object, ...]


def events(actions: tuple[Action, ...]) -> list[Event]:
    """What a computer is made to do, piece by piece: two ways to say the same have the same events."""
    found: list[Event] = []
    place: Point | None = START

    def move(to: Point) -> None:
        nonlocal place
        if to != place:
            found.append(("move", to))
            place = to

    for action in actions:
        match action:
            case Click(x=x, y=y, button=button, count=count):
                move((x, y))
                found.extend([("down", button), ("up", button)] * count)
            case MovePointer(x=x, y=y):
                move((x, y))
            case PointerDown(button=button):
                found.append(("down", button))
            case PointerUp(button=button):
                found.append(("up", button))
            case Drag(path=path, button=button):
                move(path[0])
                found.append(("down", button))
                for point in path[1:]:
                    move(point)
                found.append(("up", button))
            case Scroll(x=x, y=y, dx_px=right, dy_px=down):
                move((x, y))
                turned = found.pop()[1] if found and found[-1][0] == "wheel" else (0, 0)
                if right or down:
                    found.append(("wheel", (turned[0] + right, turned[1] + down)))
            case Press(keys=keys):
                found.extend(("key down", key) for key in keys)
                found.extend(("key up", key) for key in reversed(keys))
            case KeyDown(key=key):
                found.append(("key down", key))
            case KeyUp(key=key):
                found.append(("key up", key))
            case _:
                found.append((action,))
    return found


def not_kept(dialect: str, action: Action) -> Action:
    """The action without what the dialect's documentation says it does not keep."""
    family = dialect.partition("_")[0]
    notch = {"anthropic": 100, "computer": 100, "pyautogui": 100, "ui": 500}.get(family)
    match action:
        case Scroll(x=x, y=y, dx_px=right, dy_px=down) if notch:
            turned = (notches(distance, notch_px=notch) * notch for distance in (right, down))
            return Scroll(x=x, y=y, **dict(zip(("dx_px", "dy_px"), turned, strict=True)))
        case Wait(seconds=seconds) if dialect == "anthropic":
            return Wait(seconds=math.ceil(seconds))
        case Wait(seconds=seconds) if family in ("openai", "ui") and seconds:
            return Wait(seconds=2.0 if family == "openai" else 5.0)
        case Wait() if dialect == "computer_13":
            return Wait(seconds=2.0)
        case Finish() | Fail() if dialect in ("pyautogui", "computer_13"):
            return type(action)()
        case _:
            return action


def read_all(dialect: str, written: tuple[object, ...], frame: Frame) -> tuple[Action, ...]:
    actions: tuple[Action, ...] = ()
    for each in written:
        actions += read(dialect, each, frame, pointer=pointer_after(actions, START))
    return actions


@pytest.mark.parametrize("dialect", MEANT_ALIKE)
@settings(max_examples=60)
@given(action=ACTIONS)
def test_an_action_written_and_read_does_the_same_or_is_refused(dialect: str, action: Action) -> None:
    frame = pixels(SIZE)
    try:
        written = write(dialect, action, frame, pointer=START)
    except InvalidAction as refused:
        assert type(action).__name__ in str(refused) or "has no" in str(refused)
        return
    assert events(read_all(dialect, written, frame)) == events((not_kept(dialect, action),))


@pytest.mark.parametrize("dialect", MEANT_ALIKE)
@settings(max_examples=40)
@given(
    action=ACTIONS,
    keys=st.lists(st.sampled_from(["Shift", "Control", "a"]), min_size=1, max_size=2, unique=True),
)
def test_an_action_with_keys_held_does_the_same_or_is_refused(
    dialect: str, action: Action, keys: list[str]
) -> None:
    try:
        written = write_all(dialect, holding(keys, (action,)), pixels(SIZE), pointer=START)
    except InvalidAction:
        return
    meant = holding(keys, (not_kept(dialect, action),))
    assert events(read_all(dialect, written, pixels(SIZE))) == events(meant)


POINTER = {"Click", "MovePointer", "PointerDown", "PointerUp", "Drag", "Scroll"}
KEYS = {"TypeText", "Press", "KeyDown", "KeyUp"}
FILES = {"Run", "ReadFile", "WriteFile", "EditFile"}
SAID = {
    "anthropic": POINTER | FILES | {"TypeText", "Press", "Wait"},
    "anthropic_20241022": FILES | {"Click", "MovePointer", "Drag", "TypeText", "Press"},
    "browsergym": POINTER | KEYS | {"Wait", "Navigate", "History", "Tab", "Upload", "Answer", "Fail"},
    "computer_13": POINTER | KEYS | {"Wait", "Finish", "Fail"},
    "openai": {"Click", "MovePointer", "Drag", "Scroll", "TypeText", "Press", "Wait", "History"},
    "pyautogui": POINTER | KEYS | {"Wait", "Finish", "Fail"},
    "ui_tars": POINTER | KEYS | {"Wait", "Finish", "AskUser"},
    "ui_tars_mobile": {"Touch", "Swipe", "Scroll", "TypeText", "Wait", "History", "OpenApp"}
    | {"Finish", "AskUser"},
}
"""The kinds of action each has something for."""
EXAMPLES: tuple[Action, ...] = (
    Click(x=1, y=2),
    MovePointer(x=1, y=2),
    PointerDown(),
    PointerUp(),
    Drag(path=((1, 2), (3, 4))),
    Scroll(x=1, y=2, dy_px=100),
    Touch(x=1, y=2),
    Swipe(path=((1, 2), (3, 4))),
    TypeText(text="x"),
    Press(keys=("Enter",)),
    KeyDown(key="a"),
    KeyUp(key="a"),
    Wait(seconds=1.0),
    Navigate(url="http://x"),
    History(to="back"),
    Tab(do="open"),
    OpenApp(name="x"),
    Run(command="ls"),
    ReadFile(path="/a"),
    WriteFile(path="/a", content="x"),
    EditFile(path="/a", old="x", new="y"),
    Upload(x=1, y=2, paths=("/a",)),
    Answer(text="x"),
    Finish(),
    Fail(),
    AskUser(question="x"),
    AnswerDialog(),
    Fetch(url="http://x"),
    CallTool(name="x"),
)


@pytest.mark.parametrize("dialect", SAID)
def test_what_each_has_something_for(dialect: str) -> None:
    def can_say(action: Action) -> bool:
        try:
            return bool(write(dialect, action, pixels(SIZE), pointer=START))
        except InvalidAction:
            return False

    assert {type(action).__name__ for action in EXAMPLES if can_say(action)} == SAID[dialect]


@pytest.mark.parametrize(
    ("dialect", "theirs"),
    [
        ("anthropic_20251124", {"action": "left_click", "coordinate": [1, 2], "text": "ctrl+shift"}),
        ("anthropic_20251124", {"action": "hold_key", "text": "w", "duration": 2}),
        (
            "anthropic_20251124",
            {
                "action": "left_click_drag",
                "start_coordinate": [1, 2],
                "coordinate": [3, 4],
                "text": "alt",
            },
        ),
        ("openai", {"type": "click", "button": "right", "x": 1, "y": 2, "keys": ["CTRL", "SHIFT"]}),
        ("openai", {"type": "move", "x": 1, "y": 2, "keys": ["CMD"]}),
    ],
)
def test_keys_held_for_one_action_are_written_with_it(dialect: str, theirs: dict[str, object]) -> None:
    actions = read(dialect, theirs, pixels(SIZE))
    assert len(actions) > 1
    (written,) = write_all(dialect, actions, pixels(SIZE))
    assert written.get("input", written) == theirs


def test_several_actions_are_written_in_order_and_the_pointer_is_followed() -> None:
    actions = (Click(x=1, y=2), KeyDown(key="Shift"), PointerDown(), KeyUp(key="Shift"), Wait(seconds=1))
    assert write_all("browsergym", actions, pixels(SIZE)) == (
        "mouse_click(1, 2)",
        "keyboard_down('Shift')",
        "mouse_down(1, 2)",
        "keyboard_up('Shift')",
        "noop(1000)",
    )
    for dialect in ("anthropic", "openai"):
        with pytest.raises(InvalidAction, match="PointerDown with"):
            write_all(dialect, actions, pixels(SIZE))
        with pytest.raises(InvalidAction, match="for this KeyDown"):
            write_all(dialect, (KeyDown(key="a"), Wait(seconds=1), Wait(seconds=1)), pixels(SIZE))
    with pytest.raises(InvalidAction, match="Click with shift held"):
        write_all("anthropic_20241022", (actions[1], Click(x=1, y=2), actions[3]), pixels(SIZE))
    assert write_all("openai", (), pixels(SIZE)) == ()


# ---- the same pixel


@st.composite
def screens(draw: st.DrawFn) -> tuple[tuple[int, int], float, Frame, Point]:
    """A screen, its HiDPI scale, the frame a dialect speaks of it in, and a pixel of it."""
    size = draw(
        st.sampled_from([(160, 210), (1080, 2400), (1280, 720), (1366, 768), (1920, 1080), (2560, 1440)])
    )
    frame = draw(
        st.sampled_from(
            [
                pixels(size),
                thousandths(size),
                fractions(size),
                hidpi(size, 2.0),
                hidpi(size, 1.25),
                shown_at(size, (1024, 768)),
                CoordinateSystem(kind="resized").frame(size),
                CoordinateSystem(kind="resized", min_pixels=78_400, max_pixels=12_845_056).frame(size),
            ]
        )
    )
    x = draw(st.one_of(st.sampled_from([0, size[0] - 1]), st.integers(0, size[0] - 1)))
    y = draw(st.one_of(st.sampled_from([0, size[1] - 1]), st.integers(0, size[1] - 1)))
    return size, draw(st.sampled_from([1.0, 1.25, 1.5, 2.0, 3.0])), frame, (x, y)


@pytest.mark.parametrize("dialect", NAMES)
@settings(max_examples=60)
@given(screen=screens())
def test_a_click_lands_on_the_same_pixel_of_the_device(
    dialect: str, screen: tuple[tuple[int, int], float, Frame, Point]
) -> None:
    size, scale, frame, (x, y) = screen
    touch = "mobile" in dialect or dialect == "android_world"
    if dialect in ("pyautogui", "computer_13", "android_world") and frame.decimals:
        return  # they write whole numbers only
    action: Action = Touch(x=x, y=y) if touch else Click(x=x, y=y)
    read_back = read_all(dialect, write(dialect, action, frame), frame)
    landed = read_back[-1]
    assert isinstance(landed, Touch if touch else Click)
    device = shown_at((round(size[0] * scale), round(size[1] * scale)), size)
    on_device, meant = device.read((landed.x, landed.y)), device.read((x, y))
    if frame.exact:
        assert on_device == meant
    for axis in (0, 1):
        assert 0 <= on_device[axis] < device.screen_px[axis]
        assert abs(on_device[axis] - meant[axis]) <= (frame.step_px[axis] + 0.5) * scale + 1


# ---- any input


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KINDS = get_args(Action)


@st.composite
def spoiled(draw: st.DrawFn, dialect: str) -> object:
    """Something the dialect would write, with a piece of it changed."""
    try:
        (good, *_) = write(dialect, draw(ACTIONS), pixels(SIZE), pointer=START) or ("",)
    except InvalidAction:
        return draw(JSON)
    if isinstance(good, str):
        start, end = sorted(draw(st.tuples(st.integers(0, len(good)), st.integers(0, len(good)))))
        return good[:start] + draw(st.text(max_size=6)) + good[end:]
    bad = copy.deepcopy(good)
    spot = bad
    while isinstance(spot, dict) and spot:
        name = draw(st.sampled_from(sorted(spot)))
        if isinstance(spot[name], dict) and draw(st.booleans()):
            spot = spot[name]
            continue
        if draw(st.booleans()):
            spot[name] = draw(JSON)
        else:
            spot[draw(st.text(max_size=6))] = spot.pop(name)
        break
    return bad


@pytest.mark.parametrize("dialect", NAMES)
@settings(max_examples=120)
@given(data=st.data())
def test_any_input_gives_actions_or_the_one_typed_error(dialect: str, data: st.DataObject) -> None:
    source = data.draw(st.one_of(JSON, st.text(max_size=60), spoiled(dialect), spoiled(dialect)))
    try:
        actions = read(dialect, source, pixels(SIZE), pointer=data.draw(st.sampled_from([None, START])))
    except InvalidAction as refused:
        assert str(refused)
    else:
        assert all(isinstance(action, KINDS) for action in actions)


HUGE = int("9" * 5000 if sys.get_int_max_str_digits() == 0 else "9" * 4000) ** 3
"""More digits than Python writes out."""


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(
    "source",
    [
        b"\xff\xfe",
        "\ud800",
        "\x00",
        "(" * 5000,
        "[" * 100_000,
        "f(" * 3000,
        "x = " + "1+" * 3000 + "1",
        "pyautogui.click(1e999, 2)",
        "pyautogui.sleep(" + "+".join(["1"] * 3000) + ")",
        f"pyautogui.click(0x{'f' * 5000}, 2)",
        f"for i in range(0x{'f' * 500}):\n    pyautogui.click(1, 2)",
        HUGE,
        [HUGE],
        {1: 2},
        {"type": HUGE},
        {"type": "click", "x": HUGE, "y": 2},
        {"type": "drag", "path": [[HUGE, 1], [1, 2]]},
        {"action": HUGE},
        {"action": "left_click", "coordinate": [float("inf"), 2]},
        {"action_type": HUGE, "parameters": {}},
        {"action_type": "CLICK", "parameters": {"x": HUGE, "y": 1}},
        {"action_type": "HOTKEY", "parameters": {"keys": [HUGE]}},
        {"action_type": "click", "x": HUGE, "y": 1},
        {"name": "computer", "input": {"action": "wait", "duration": float("nan")}},
    ],
    ids=lambda source: type(source).__name__,
)
def test_hostile_input_is_refused(dialect: str, source: object) -> None:
    with pytest.raises(InvalidAction):
        read(dialect, source, pixels(SIZE))
