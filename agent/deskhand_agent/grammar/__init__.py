"""Text to actions and back, in the manner of UI-TARS (arXiv 2501.12326).

    <think>The form wants a name first.</think>
    click(point='<point>83 125</point>')
    type(content='Ada\\n')

The thought is optional and may also be written `Thought: … Action: …`; one or several calls follow, separated
by white space. Coordinates are read exactly as written, in the model's own frame, which
`deskhand_agent.coordinates` turns into pixels. `format_reply` writes the one canonical form and `parse_reply`
reads exactly that back. `mend_reply` reads near-misses too, of models nobody trained on the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar.calls import scan_calls
from deskhand_agent.grammar.mending import REPAIRS, Repair, mended
from deskhand_agent.grammar.reading import ACTION_NAMES, DIRECTION_SCROLL_PX, LONG_PRESS_MS, read_call
from deskhand_agent.grammar.writing import write_action
from deskhand_sandbox.types import Action

__all__ = [
    "ACTION_NAMES",
    "DIRECTION_SCROLL_PX",
    "GRAMMAR",
    "LONG_PRESS_MS",
    "ParsedReply",
    "Repair",
    "format_reply",
    "mend_reply",
    "parse_reply",
]

GRAMMAR = """\
click(point='<point>x y</point>')  also left_double, left_triple, right_single, middle_single
move_to(point='<point>x y</point>')  move the pointer; mouse_down() and mouse_up() press and release there
drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')
scroll(point='<point>x y</point>', direction='down')  or up, left, right; or dx=0, dy=500 in px
type(content='text')  escape \\', \\n and \\\\; end with \\n to submit
hotkey(key='ctrl c')  keys together; press(key='shift') holds one, release(key='shift') lets go
wait(time=2)  seconds
navigate(url='https://…')  go_back(), go_forward(), reload()
open_tab()  focus_tab(index=0), close_tab()
upload(point='<point>x y</point>', paths=["a.txt"])  click and give the file chooser this opens files
accept_dialog(content='text')  or dismiss_dialog(): answer an alert, a confirm or a prompt
tap(point='<point>x y</point>')  on touch screens; long_press, swipe(start_point=…, end_point=…)
open_app(app_name='…')  press_home(), press_back()
run(command='ls')  read_file(path='…'), write_file(path='…', content='…')
edit_file(path='…', old='…', new='…')  replace what is there once
fetch(url='https://…', method='POST', headers={"name": "text"}, body='…')
call_tool(name='…', arguments={"key": 1})
zoom(start_point=…, end_point=…)  look closer: see that part enlarged, its pixels count until you act
call_user(content='…')  ask the person and go on
answer(content='…')  say the answer the task asks for and go on
finished(content='…')  the task is done
fail(reason='…')  the task cannot be done"""
"""The grammar in the words a model is told it in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsedReply:
    """What a reply says."""

    thought: str | None
    """None when there was none."""
    actions: tuple[Action, ...]
    """At least one, coordinates as written."""
    repairs: tuple[Repair, ...] = ()
    """What had to be mended first, in order."""


def parse_reply(text: str) -> ParsedReply:
    """Read a reply.

    Raises:
        ActionSyntaxError: the text is no reply of this grammar; nothing else is ever raised.
    """
    thought, start = _split_thought(text)
    actions = [action for call in scan_calls(text, start) for action in read_call(call)]
    return ParsedReply(thought=thought, actions=tuple(actions))


def mend_reply(text: str) -> ParsedReply:
    """Read a reply, mending what is nearly of this grammar where that leaves no doubt what it means.

    Raises:
        ActionSyntaxError: it cannot be read either way; says what is wrong with it as it stands.
    """
    try:
        return parse_reply(text)
    except ActionSyntaxError as error:
        found = mended(text, parse_reply, REPAIRS)
        if found is None:
            raise error from None
        reply, repairs = found
        return replace(reply, repairs=repairs)


def format_reply(thought: str | None, actions: Sequence[Action]) -> str:
    """The canonical text of a reply; `parse_reply` reads exactly this back.

    Numbers are to be below 10^18 and texts without lone surrogates, as all text from a parsed reply is.
    """
    head = f"<think>{_CLOSING.sub(_escape_closing, thought)}</think>\n" if thought is not None else ""
    return head + "\n".join(write_action(action) for action in actions)


# ---- the thought ------------------------------------------------------------------------------------

_CLOSING = re.compile(r"<(\\*)/think>")
_ESCAPED_CLOSING = re.compile(r"<\\(\\*)/think>")
_THOUGHT_ACTION = re.compile(r"\s*(?:Thought:(?P<thought>.*?)^[^\S\n]*)?Action:", re.DOTALL | re.MULTILINE)
_BLANK = re.compile(r"\s*")


def _escape_closing(match: re.Match[str]) -> str:
    return f"<\\{match.group(1)}/think>"


def _split_thought(text: str) -> tuple[str | None, int]:
    """The thought, and where the calls begin."""
    blank = _BLANK.match(text)
    start = blank.end() if blank else 0
    if text.startswith("<think>", start):
        end = text.find("</think>", start)
        if end < 0:
            raise ActionSyntaxError(
                "expected </think> after <think>, found the end", position=len(text), expected="</think>"
            )
        thought = text[start + len("<think>") : end]
        return _ESCAPED_CLOSING.sub(r"<\1/think>", thought), end + len("</think>")
    labelled = _THOUGHT_ACTION.match(text)
    if labelled is None:
        return None, start
    thought = labelled.group("thought")
    return (None if thought is None else thought.strip()), labelled.end()
