"""From BrowserGym's calls to actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from deskhand_sandbox.dialects.browsergym.calls import read_script
from deskhand_sandbox.dialects.browsergym.keys import read_key, read_keys
from deskhand_sandbox.dialects.dialect import Box, Choice, Option, View
from deskhand_sandbox.dialects.fields import Fields
from deskhand_sandbox.dialects.pointing import holding, pointer_after
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import (
    Action,
    Answer,
    Button,
    Click,
    Drag,
    Fail,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    Point,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Tab,
    TypeText,
    Upload,
    Wait,
)

_BUTTONS: Mapping[str, Button] = {"left": "left", "middle": "middle", "right": "right"}


def read_calls(source: object, view: View) -> tuple[Action, ...]:
    """The actions calls ask for.

    Raises:
        InvalidAction: no such call, wrong arguments, or an element whose box is not known.
    """
    if not isinstance(source, str):
        raise InvalidAction(f"an action of BrowserGym is text, not {type(source).__name__}")
    actions: list[Action] = []
    for name, values in read_script(source, SIGNATURES):
        arguments = _Arguments(name, values, view, pointer_after(actions, view.pointer))
        actions += _CALLS[name][1](arguments)
        arguments.done()
    return tuple(actions)


class _Arguments(Fields):
    """The arguments of one call."""

    def __init__(self, name: str, values: Mapping[str, object], view: View, pointer: Point | None) -> None:
        super().__init__(f"{name}(…)", values)
        self._view = view
        self.pointer: Point = pointer or (0, 0)

    def point(self, x: str = "x", y: str = "y") -> Point:
        return self._view.frame.read((self.number(x), self.number(y)))

    def element(self, name: str = "bid") -> Point:
        """The middle of an element."""
        return self._middle(self.text(name))

    def ticked(self) -> tuple[Point, bool]:
        """The middle of an element, and whether it is ticked."""
        bid = self.text("bid")
        return self._middle(bid), bid in self._view.checked

    def _middle(self, bid: str) -> Point:
        boxes = self._view.boxes
        if bid not in boxes:
            raise InvalidAction(f"{self.what}: {UnknownName('element', bid[:40], boxes)}")
        return self._centre(boxes[bid])

    def _centre(self, box: Box) -> Point:
        left, top, right, bottom = box
        return self._view.frame.read(((left + right) / 2, (top + bottom) / 2))

    def chosen(self) -> tuple[Point, Choice, list[Option]]:
        """The middle of an element, and what is to be chosen in it."""
        bid = self.text("bid")
        place, choice = self._middle(bid), self._view.choices.get(bid)
        if choice is None:
            raise InvalidAction(
                f"{self.what}: {bid!r:.60} has no options on this screen: use clicks and keys"
            )
        labelled = {_spaced(option.label): option for option in reversed(choice.options)}
        options: list[Option] = []
        for label in self.texts("options"):
            option = labelled.get(_spaced(label))
            if option is None:
                raise InvalidAction(f"{self.what}: {UnknownName('option', label[:40], labelled)}")
            if not option.enabled:
                raise InvalidAction(f"{self.what}: the option {label!r:.60} is disabled")
            options.append(option)
        if not options:
            raise InvalidAction(f"{self.what} needs at least one option")
        return place, choice, options

    def place_of(self, option: Option) -> Point:
        """The middle of an option."""
        if option.box is None:
            raise InvalidAction(
                f"{self.what}: the option {option.label!r:.60} is off the screen: scroll to it"
            )
        return self._centre(option.box)

    def button(self) -> Button:
        return self.choice("button", _BUTTONS, "left")

    def modifiers(self) -> tuple[str, ...]:
        return tuple(read_key(name) for name in self.texts("modifiers"))


_Reader: TypeAlias = Callable[[_Arguments], tuple[Action, ...]]


def _click_at(a: _Arguments, place: Point, count: int) -> tuple[Action, ...]:
    return holding(a.modifiers(), (Click(x=place[0], y=place[1], button=a.button(), count=count),))


def _mouse(action: type[PointerDown] | type[PointerUp]) -> _Reader:
    return lambda a: (_moved(a.point()), action(button=a.button()))


def _moved(place: Point) -> Action:
    return MovePointer(x=place[0], y=place[1])


def _focused(place: Point) -> Action:
    return Click(x=place[0], y=place[1])


def _cleared(a: _Arguments) -> tuple[Action, ...]:
    return (_focused(a.element()), Press(keys=("Control", "a")), Press(keys=("Delete",)))


def _fill(a: _Arguments) -> tuple[Action, ...]:
    a.take("enable_autocomplete_menu")  # keys always show it
    value = a.text("value")
    cleared = _cleared(a)
    return (*cleared, TypeText(text=value)) if value else cleared


def _ticked(a: _Arguments, *, wanted: bool) -> tuple[Action, ...]:
    place, ticked = a.ticked()
    return () if ticked is wanted else (_focused(place),)


def _spaced(label: str) -> str:
    return " ".join(label.split())


def _selected(a: _Arguments) -> tuple[Action, ...]:
    place, choice, options = a.chosen()
    if not choice.drops_down:
        first, *others = (_focused(a.place_of(option)) for option in options)
        return (first, *holding(("Control",), tuple(others))) if others else (first,)
    if len(options) > 1:
        raise InvalidAction(f"{a.what}: one option is chosen in this element, not {len(options)}")
    opening = () if choice.opened else (_focused(place),)
    return (*opening, *_moved_to(options[0], choice), Press(keys=("Enter",)))


def _moved_to(option: Option, choice: Choice) -> tuple[Action, ...]:
    """The keys that move to an option: its label, or where another begins with that, as many steps."""
    typed = option.label.casefold()
    alike = [each for each in choice.options if each.label.casefold().startswith(typed)]
    if len(alike) == 1 and typed.isascii() and typed.isprintable():
        return (TypeText(text=option.label),)
    steps = [each for each in choice.options if each.enabled].index(option)
    return (Press(keys=("Home",)), *(Press(keys=("ArrowDown",)) for _ in range(steps)))


def _scroll(a: _Arguments, place: Point, right: str, down: str) -> tuple[Action, ...]:
    return (Scroll(x=place[0], y=place[1], dx_px=round(a.number(right)), dy_px=round(a.number(down))),)


def _upload(a: _Arguments, place: Point) -> tuple[Action, ...]:
    paths = a.texts("file")
    if not paths:
        raise InvalidAction(f"{a.what} needs at least one file")
    return (Upload(x=place[0], y=place[1], paths=paths),)


def _history(to: Literal["back", "forward"]) -> _Reader:
    return lambda a: (History(to=to),)


def _refused(a: _Arguments) -> tuple[Action, ...]:
    raise InvalidAction(f"{a.what} acts on the document: use clicks and keys on what the screen shows")


_CALLS: Mapping[str, tuple[tuple[str, ...], _Reader]] = {
    "noop": (("wait_ms",), lambda a: (Wait(seconds=a.number("wait_ms", 1000.0) / 1000),)),
    "send_msg_to_user": (("text",), lambda a: (Answer(text=a.text("text")),)),
    "report_infeasible": (("reason",), lambda a: (Fail(reason=a.text("reason")),)),
    # by element
    "click": (("bid", "button", "modifiers"), lambda a: _click_at(a, a.element(), 1)),
    "dblclick": (("bid", "button", "modifiers"), lambda a: _click_at(a, a.element(), 2)),
    "hover": (("bid",), lambda a: (_moved(a.element()),)),
    "focus": (("bid",), lambda a: (_focused(a.element()),)),
    "clear": (("bid",), _cleared),
    "fill": (("bid", "value", "enable_autocomplete_menu"), _fill),
    "press": (
        ("bid", "key_comb"),
        lambda a: (_focused(a.element()), Press(keys=read_keys(a.text("key_comb")))),
    ),
    "drag_and_drop": (
        ("from_bid", "to_bid"),
        lambda a: (Drag(path=(a.element("from_bid"), a.element("to_bid"))),),
    ),
    "upload_file": (("bid", "file"), lambda a: _upload(a, a.element())),
    "select_option": (("bid", "options"), _selected),
    "check": (("bid",), lambda a: _ticked(a, wanted=True)),
    "uncheck": (("bid",), lambda a: _ticked(a, wanted=False)),
    "get_element_html": (("bid",), _refused),
    # by place
    "mouse_move": (("x", "y"), lambda a: (_moved(a.point()),)),
    "mouse_click": (("x", "y", "button"), lambda a: _click_at(a, a.point(), 1)),
    "mouse_dblclick": (("x", "y", "button"), lambda a: _click_at(a, a.point(), 2)),
    "mouse_down": (("x", "y", "button"), _mouse(PointerDown)),
    "mouse_up": (("x", "y", "button"), _mouse(PointerUp)),
    "mouse_drag_and_drop": (
        ("from_x", "from_y", "to_x", "to_y"),
        lambda a: (Drag(path=(a.point("from_x", "from_y"), a.point("to_x", "to_y"))),),
    ),
    "mouse_upload_file": (("x", "y", "file"), lambda a: _upload(a, a.point())),
    "scroll": (("delta_x", "delta_y"), lambda a: _scroll(a, a.pointer, "delta_x", "delta_y")),
    "scroll_at": (("x", "y", "dx", "dy"), lambda a: _scroll(a, a.point(), "dx", "dy")),
    # keys
    "keyboard_press": (("key",), lambda a: (Press(keys=read_keys(a.text("key"))),)),
    "keyboard_down": (("key",), lambda a: (KeyDown(key=read_key(a.text("key"))),)),
    "keyboard_up": (("key",), lambda a: (KeyUp(key=read_key(a.text("key"))),)),
    "keyboard_type": (("text",), lambda a: (TypeText(text=a.text("text")),)),
    "keyboard_insert_text": (("text",), lambda a: (TypeText(text=a.text("text")),)),
    # pages
    "goto": (("url",), lambda a: (Navigate(url=a.text("url")),)),
    "go_back": ((), _history("back")),
    "go_forward": ((), _history("forward")),
    "new_tab": ((), lambda a: (Tab(do="open"),)),
    "tab_focus": (("index",), lambda a: (Tab(do="focus", index=a.whole("index", least=0)),)),
    "tab_close": ((), lambda a: (Tab(do="close"),)),
}
"""Function -> its parameters in order, and what it means."""
SIGNATURES: Mapping[str, tuple[str, ...]] = {name: parameters for name, (parameters, _) in _CALLS.items()}
