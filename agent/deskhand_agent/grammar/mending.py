"""Replies that are nearly of the grammar, as models write them that were only told of it.

Each repair is a function of the text that leaves alone what it does not know; what stands inside quotes,
which may be anything a model types, is never touched but for points.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar.calls import CallSyntaxError, scan_call
from deskhand_agent.grammar.reading import ACTION_NAMES
from deskhand_sandbox.errors import InvalidAction


class Repair(StrEnum):
    """What was mended."""

    FENCE = "fence"
    """Calls in a Markdown code block, or in backticks."""
    THOUGHT = "thought"
    """A thought that is closed and never opened, or opened and never closed."""
    QUOTES = "quotes"
    """Typographic quotes around a text."""
    NAME = "name"
    """An action by another name."""
    POINT = "point"
    """A point in another form: `click(10, 20)`, `point=[10, 20]`, fractions; `zoom(region=[…])`."""
    ARGUMENT = "argument"
    """An argument by another name or by none: `type('text')`."""
    CLOSING = "closing"
    """A call cut off before its last brackets."""
    PROSE = "prose"
    """Words before or after the calls."""
    ESCAPES = "escapes"
    """Quotes within a text that are not escaped, in UI-TARS's grammar: `type(content='it's')`."""


T = TypeVar("T")
MOST_STARTS = 64
"""Names of actions looked at among words."""
_NUMBER = r"(-?\d{1,9}(?:\.\d{1,9})?)"
_PAIR = rf"{_NUMBER}\s*(?:,\s*|\s){_NUMBER}"
_NAMES = {
    "left_click": "click",
    "tap_on": "tap",
    "double_click": "left_double",
    "doubleclick": "left_double",
    "triple_click": "left_triple",
    "right_click": "right_single",
    "middle_click": "middle_single",
    "mouse_move": "move_to",
    "zoom_in": "zoom",
    "crop": "zoom",
    "hover": "move_to",
    "left_click_drag": "drag",
    "type_text": "type",
    "input_text": "type",
    "key": "hotkey",
    "keypress": "hotkey",
    "goto": "navigate",
    "open_url": "navigate",
    "ask_user": "call_user",
    "finish": "finished",
    "done": "finished",
}
"""Names in other action spaces, of actions with the same arguments."""
_FIRST = {
    **dict.fromkeys(("type", "answer", "finished", "call_user"), "content"),
    **dict.fromkeys(("hotkey", "press", "release"), "key"),
    "navigate": "url",
    "run": "command",
    "read_file": "path",
    "open_app": "app_name",
    "fail": "reason",
    "wait": "time",
}
"""Action -> what its only argument is called."""
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "content": ("text", "value", "message", "question", "answer"),
    "key": ("hotkey", "keys", "text", "combo"),
    "url": ("address",),
    "command": ("cmd",),
    "path": ("file", "file_path"),
    "app_name": ("name", "app"),
    "reason": ("message", "content"),
    "time": ("seconds", "duration"),
}

_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)
_QUOTED = re.compile(
    r"(?<=[=(,\[{:])\s*(?:'(?:[^'\\]|\\.?)*+(?:'|\Z)|\"(?:[^\"\\]|\\.?)*+(?:\"|\Z))", re.DOTALL
)
"""A text where a value can begin, so not an apostrophe; to the end where nothing closes it."""
_CALLED = re.compile(r"\b([A-Za-z_]{2,40})\s*\(")
_ANY_NAME = "|".join(sorted(ACTION_NAMES, key=len, reverse=True))
_KNOWN = re.compile(rf"\b(?:{_ANY_NAME})\s*\(")
_ON_ITS_LINE = re.compile(rf"^[ \t*-]*+(?:Action:[ \t]*)?(?=(?:{_ANY_NAME})\s*\()", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t.;]*(?:\n|\Z)")
_TAGGED = re.compile(rf"([\"'])\s*<point>\s*{_PAIR}\s*</point>\s*\1")
_NAMED_PAIR = re.compile(
    rf"\b(point|start_point|end_point|start_box|end_box|coordinate|position)\s*=\s*[\[(]\s*{_PAIR}\s*[\])]"
)
_BARE_PAIR = re.compile(rf"\b([a-z_]{{2,20}}\s*\(\s*)(?:[\[(]\s*{_PAIR}\s*[\])]|{_PAIR})(?=\s*[,)])")
_FOUR = rf"{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}"
_REGION = re.compile(rf"\b(zoom\s*\(\s*)(?:(?:region|box)\s*=\s*)?(?:[\[(]\s*)?{_FOUR}(?:\s*[\])])?(?=\s*\))")
_XY = re.compile(rf"\bx\s*=\s*{_NUMBER}\s*,\s*y\s*=\s*{_NUMBER}")
_TYPOGRAPHIC = re.compile(r"(?<=[=(])(?:“([^“”\"]*)”|‘([^‘’']*)’)(?=\s*[,)])")


def _outside_quotes(text: str, mend: Callable[[str], str]) -> str:
    """The text with what stands between quoted texts mended; a quoted text is one stroke to `mend`."""
    kept = [match.group() for match in _QUOTED.finditer(text)]
    if "\ue000" in text or not kept:
        return text if "\ue000" in text else mend(text)
    pieces = mend(_QUOTED.sub("\ue000", text)).split("\ue000")
    if len(pieces) != len(kept) + 1:
        return text
    return pieces[0] + "".join(quoted + piece for quoted, piece in zip(kept, pieces[1:], strict=True))


def _unfenced(text: str) -> str:
    return _outside_quotes(text, lambda words: _FENCE.sub("", words).replace("`", ""))


def _thought_marked(text: str) -> str:
    opened, closing = text.find("<think>"), text.find("</think>")
    if opened < 0 <= closing:
        return f"<think>{text}"
    if opened < 0 or closing >= 0:
        return text
    run = _only_run(text)
    return f"{text[: run[0]]}</think>{text[run[0] :]}" if run else text


def _straight(text: str) -> str:
    def quoted(match: re.Match[str]) -> str:
        double, single = match.groups()
        return f"'{single}'" if double is None else f'"{double}"'

    return _outside_quotes(text, lambda words: _TYPOGRAPHIC.sub(quoted, words))


def _renamed(text: str) -> str:
    def name(match: re.Match[str]) -> str:
        written = match.group(1)
        if written in ACTION_NAMES:
            return match.group()
        lower = written.lower()
        near = difflib.get_close_matches(lower, ACTION_NAMES, n=2, cutoff=0.85)
        meant = _NAMES.get(lower) or (near[0] if len(near) == 1 else written)
        return f"{meant}("

    return _outside_quotes(text, lambda words: _CALLED.sub(name, words, count=MOST_STARTS))


def _pointed(text: str) -> str:
    def pair(x: str, y: str) -> str:
        return f"'<point>{' '.join(_whole(x, y))}</point>'"

    def bare(match: re.Match[str]) -> str:
        x, y = (number for number in match.groups()[1:] if number is not None)
        return f"{match.group(1)}point={pair(x, y)}"

    def named(match: re.Match[str]) -> str:
        name = {"coordinate": "point", "position": "point"}.get(match.group(1), match.group(1))
        return f"{name}={pair(match.group(2), match.group(3))}"

    def region(match: re.Match[str]) -> str:
        opening, *numbers = match.groups()
        left, top, right, bottom = _whole(*numbers)
        return f"{opening}start_point={pair(left, top)}, end_point={pair(right, bottom)}"

    def mend(words: str) -> str:
        words = _REGION.sub(region, words)
        words = _NAMED_PAIR.sub(named, words)
        words = _XY.sub(lambda match: f"point={pair(match.group(1), match.group(2))}", words)
        return _BARE_PAIR.sub(bare, words)

    text = _outside_quotes(text, mend)
    return _TAGGED.sub(lambda match: pair(match.group(2), match.group(3)), text)


def _whole(*numbers: str) -> tuple[str, ...]:
    """Pixels without fractions; shares of the screen, from 0 to 1, stay what they are and cannot be read."""
    if all("." in number and 0 <= float(number) <= 1 for number in numbers):
        return numbers
    return tuple(str(round(float(number))) if "." in number else number for number in numbers)


def _named(text: str) -> str:
    def mend(words: str) -> str:
        for action, name in _FIRST.items():
            others = "|".join(_OTHER_NAMES[name])
            words = re.sub(rf"\b({action}\s*\(\s*)(?:{others})\s*=", rf"\g<1>{name}=", words)
            value = r"\d" if name == "time" else "\ue000"
            words = re.sub(rf"\b({action}\s*\(\s*)(?={value})", rf"\g<1>{name}=", words)
        return words

    return _outside_quotes(text, mend)


def closed(text: str) -> str:
    """The text with the bracket, or after a point the quote and bracket, that its last call lacks at the end.

    What else is cut off may lack more than that: half a text is not typed.
    """
    last = list(_KNOWN.finditer(text))[-1:]
    for closer in (")", "')", '")') if text.rstrip().endswith("</point>") else (")",):
        try:
            _, end = scan_call(text + closer, last[0].start())
        except (CallSyntaxError, IndexError):
            continue
        if end == len(text) + len(closer):
            return text + closer
    return text


def _only_run(text: str) -> tuple[int, int] | None:
    """Where the calls begin and end that follow each other on lines of their own; None where others begin a
    line too, or one is not whole or has words behind it, so that none is meant for sure."""
    first = end = None
    while (start := _ON_ITS_LINE.search(text, end or 0)) is not None:
        apart = end is not None and text[end : start.end()].strip()
        try:
            _, end = scan_call(text, start.end())
        except CallSyntaxError:
            return None
        if apart or not _REST_OF_LINE.match(text, end):
            return None
        first = start.end() if first is None else first
    return None if first is None or end is None else (first, end)


def without_prose(text: str) -> str:
    """The only run of calls on lines of their own among other words, those before it as its thought; the text
    itself where there is none, or not one alone."""
    run = _only_run(text)
    if run is None:
        return text
    before, calls = text[: run[0]], text[run[0] : run[1]]
    before = before.rstrip(" \t*-\n").removesuffix("Action:").strip().removeprefix("Thought:").strip()
    if before.startswith("<think>"):
        before = before.removeprefix("<think>").partition("</think>")[0]
    return f"<think>{before.replace('</think>', '')}</think>\n{calls}" if before else calls


def mended(
    text: str, read: Callable[[str], T], repairs: Sequence[tuple[Repair, Callable[[str], str]]]
) -> tuple[T, tuple[Repair, ...]] | None:
    """What a text says after the first of the repairs that let it be read, and which they were; None where
    they do not.

    Args:
        read: raises `ActionSyntaxError` or `InvalidAction` where it cannot.
    """
    done: list[Repair] = []
    for repair, mend in repairs:
        changed = mend(text)
        if changed == text:
            continue
        text = changed
        done.append(repair)
        try:
            return read(text), tuple(done)
        except (ActionSyntaxError, InvalidAction):
            continue
    return None


REPAIRS: tuple[tuple[Repair, Callable[[str], str]], ...] = (
    (Repair.FENCE, _unfenced),
    (Repair.THOUGHT, _thought_marked),
    (Repair.QUOTES, _straight),
    (Repair.NAME, _renamed),
    (Repair.POINT, _pointed),
    (Repair.ARGUMENT, _named),
    (Repair.CLOSING, closed),
    (Repair.PROSE, without_prose),
)
"""In the order they are tried."""
SYNTACTIC: tuple[tuple[Repair, Callable[[str], str]], ...] = tuple(
    each for each in REPAIRS if each[0] in (Repair.FENCE, Repair.QUOTES, Repair.CLOSING)
)
"""Those that change no name and no argument, and so fit other grammars of the same calls."""
