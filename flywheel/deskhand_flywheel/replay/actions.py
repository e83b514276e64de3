"""Actions as a person reads them."""

from __future__ import annotations

import json

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
    Zoom,
)

_CLICKS = {1: "click", 2: "double click", 3: "triple click"}


def describe(action: Action) -> str:
    """One action in a few words: "double click at 40, 52"."""
    match action:
        case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll() | Touch() | Swipe():
            return _pointer(action)
        case TypeText(text=text):
            return f"type {_quoted(text)}"
        case Press(keys=keys):
            return f"press {' + '.join(keys)}"
        case KeyDown(key=key):
            return f"hold {key}"
        case KeyUp(key=key):
            return f"release {key}"
        case Wait(seconds=seconds):
            return f"wait {seconds:g} s"
        case Answer(text=text):
            return f"answer {_quoted(text)}"
        case Finish(text=text):
            return f"finish{f' {_quoted(text)}' if text else ''}"
        case Fail(reason=reason):
            return f"give up{f': {reason}' if reason else ''}"
        case AskUser(question=question):
            return f"ask {_quoted(question)}"
        case Zoom(start=start, end=end):
            return f"look closer at {start[0]}, {start[1]} to {end[0]}, {end[1]}"
        case _:
            return _system(action)


def _pointer(
    action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll | Touch | Swipe,
) -> str:
    match action:
        case Click(x=x, y=y, button=button, count=count):
            side = "" if button == "left" else f"{button} "
            return f"{side}{_CLICKS.get(count, f'{count} clicks')} at {x}, {y}"
        case MovePointer(x=x, y=y):
            return f"move to {x}, {y}"
        case PointerDown(button=button):
            return f"press the {button} button"
        case PointerUp(button=button):
            return f"release the {button} button"
        case Drag(path=path):
            return f"drag {_along(path)}"
        case Scroll(x=x, y=y, dx_px=dx, dy_px=dy):
            return f"scroll {_directions(dx, dy)} at {x}, {y}"
        case Touch(x=x, y=y, hold_ms=hold):
            return f"{'long press' if hold >= 500 else 'tap'} at {x}, {y}"
        case Swipe(path=path):
            return f"swipe {_along(path)}"


def _system(
    action: Navigate
    | History
    | Tab
    | Upload
    | AnswerDialog
    | OpenApp
    | Run
    | ReadFile
    | WriteFile
    | EditFile
    | Fetch
    | CallTool,
) -> str:
    match action:
        case Navigate(url=url):
            return f"go to {url}"
        case History(to=to):
            return {"back": "go back", "forward": "go forward", "reload": "reload", "home": "go home"}[to]
        case Tab(do=do, index=index):
            return f"{do} tab{'' if index is None else f' {index}'}"
        case Upload(x=x, y=y, paths=paths):
            return f"upload {', '.join(paths)} at {x}, {y}"
        case AnswerDialog(accept=accept, text=text):
            return f"{'accept' if accept else 'dismiss'} the dialog{f' with {_quoted(text)}' if text else ''}"
        case OpenApp(name=name):
            return f"open {name}"
        case Run(command=command):
            return f"run {command}"
        case ReadFile(path=path):
            return f"read {path}"
        case WriteFile(path=path, content=content):
            return f"write {path} ({len(content)} characters)"
        case EditFile(path=path, old=old, new=new):
            return f"in {path} replace {_quoted(old)} by {_quoted(new)}"
        case Fetch(url=url, method=method):
            return f"fetch {'' if method == 'GET' else f'{method} '}{url}"
        case CallTool(name=name, arguments=arguments):
            return f"call {name}({json.dumps(dict(arguments), ensure_ascii=False)})"


def _quoted(text: str) -> str:
    return f"“{text}”".replace("\n", "⏎")


def _along(path: tuple[Point, ...]) -> str:
    return " → ".join(f"{x}, {y}" for x, y in path)


def _directions(dx: int, dy: int) -> str:
    parts = [f"{abs(dy)} px {'down' if dy > 0 else 'up'}"] if dy else []
    parts += [f"{abs(dx)} px {'right' if dx > 0 else 'left'}"] if dx else []
    return " and ".join(parts) or "nowhere"
