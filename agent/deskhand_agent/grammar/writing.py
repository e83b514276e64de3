"""From actions to their canonical calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from deskhand_agent.grammar.calls import Value, write_call
from deskhand_agent.grammar.keys import write_keys
from deskhand_agent.grammar.reading import CLICKS, DIRECTIONS, LONG_PRESS_MS
from deskhand_sandbox.types import (
    Action,
    Answer,
    AnswerDialog,
    AskUser,
    Button,
    CallTool,
    Click,
    Drag,
    EditFile,
    Fail,
    Fetch,
    Finish,
    History,
    JsonValue,
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
    Zoom,
)

_CLICK_NAMES: Mapping[tuple[Button, int], str] = {meaning: name for name, meaning in CLICKS.items()}
_DIRECTION_NAMES = {offset: name for name, offset in DIRECTIONS.items()}
NO_HEADERS: dict[str, JsonValue] = {}
_HISTORY_NAMES = {"back": "go_back", "forward": "go_forward", "reload": "reload", "home": "press_home"}


def write_action(action: Action) -> str:
    """The canonical call of an action, short where a reader assumes the rest."""
    match action:
        case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll() | Touch() | Swipe():
            return _write_pointer(action)
        case TypeText(text=text):
            return write_call("type", content=text)
        case Press(keys=keys):
            return write_call("hotkey", **write_keys(keys))
        case KeyDown(key=key):
            return write_call("press", **write_keys((key,)))
        case KeyUp(key=key):
            return write_call("release", **write_keys((key,)))
        case Wait(seconds=seconds):
            return write_call("wait", **_unless(1.0, time=seconds))
        case Navigate(url=url):
            return write_call("navigate", url=url)
        case History(to=to):
            return write_call(_HISTORY_NAMES[to])
        case Tab(do=do, index=index):
            return write_call(f"{do}_tab", **({} if index is None else {"index": index}))
        case Upload(x=x, y=y, paths=paths):
            return write_call("upload", point=_point(x, y), paths=list(paths))
        case AnswerDialog(accept=True, text=text):
            return write_call("accept_dialog", **_unless("", content=text))
        case AnswerDialog():
            return write_call("dismiss_dialog")
        case OpenApp(name=name):
            return write_call("open_app", app_name=name)
        case Run(command=command, timeout_s=timeout_s):
            return write_call("run", command=command, **_unless(60.0, timeout=timeout_s))
        case ReadFile(path=path):
            return write_call("read_file", path=path)
        case WriteFile(path=path, content=content):
            return write_call("write_file", path=path, content=content)
        case EditFile(path=path, old=old, new=new):
            return write_call("edit_file", path=path, old=old, new=new)
        case Fetch(url=url, method=method, headers=headers, body=body):
            given = {**_unless("GET", method=method), **_unless(NO_HEADERS, headers=dict(headers))}
            return write_call("fetch", url=url, **given, **_unless("", body=body))
        case CallTool(name=name, arguments=arguments):
            return write_call("call_tool", name=name, arguments=dict(arguments))
        case Answer(text=text):
            return write_call("answer", content=text)
        case Finish(text=text):
            return write_call("finished", **_unless("", content=text))
        case Fail(reason=reason):
            return write_call("fail", **_unless("", reason=reason))
        case AskUser(question=question):
            return write_call("call_user", content=question)
        case Zoom(start=start, end=end):
            return write_call("zoom", start_point=_point(*start), end_point=_point(*end))
        case _:
            assert_never(action)


def _write_pointer(
    action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll | Touch | Swipe,
) -> str:
    match action:
        case Click(x=x, y=y, button=button, count=count):
            name = _CLICK_NAMES.get((button, count))
            if name is not None:
                return write_call(name, point=_point(x, y))
            return write_call(_CLICK_NAMES[button, 1], point=_point(x, y), count=count)
        case MovePointer(x=x, y=y):
            return write_call("move_to", point=_point(x, y))
        case PointerDown(button=button):
            return write_call("mouse_down", **_unless("left", button=button))
        case PointerUp(button=button):
            return write_call("mouse_up", **_unless("left", button=button))
        case Drag(path=path, button=button):
            return write_call("drag", **_path(path), **_unless("left", button=button))
        case Scroll(x=x, y=y, dx_px=dx, dy_px=dy):
            direction = _DIRECTION_NAMES.get((dx, dy))
            distance: dict[str, Value] = {"direction": direction} if direction else {"dx": dx, "dy": dy}
            return write_call("scroll", point=_point(x, y), **distance)
        case Touch(x=x, y=y, hold_ms=hold_ms):
            if hold_ms == LONG_PRESS_MS:
                return write_call("long_press", point=_point(x, y))
            return write_call("tap", point=_point(x, y), **_unless(50, hold_ms=hold_ms))
        case Swipe(path=path, duration_ms=duration_ms):
            return write_call("swipe", **_path(path), **_unless(300, duration_ms=duration_ms))
        case _:
            assert_never(action)


def _point(x: int, y: int) -> str:
    return f"<point>{x} {y}</point>"


def _path(path: tuple[Point, ...]) -> dict[str, Value]:
    points = [_point(*point) for point in path]
    if len(points) == 2:
        return {"start_point": points[0], "end_point": points[1]}
    return {"path": "".join(points)}


def _unless(default: Value, **argument: Value) -> dict[str, Value]:
    """The argument, or nothing where it has the value a reader assumes anyway."""
    return {name: value for name, value in argument.items() if value != default}
