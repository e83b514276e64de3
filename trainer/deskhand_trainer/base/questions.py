"""Questions about a page with one right answer each, in the agent's own grammar.

What is pointed at is clicked, what is read or told is answered, what is copied is typed: a model that answers
them has made every kind of reply before it meets a task.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from deskhand_sandbox.tasks.generated import Thing
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Action, Answer, Click, TypeText
from deskhand_trainer.base.pages import SeenPage


class Kind(StrEnum):
    """What a question asks of a model."""

    POINT_NAMED = "point_named"
    """Click what is called so."""
    POINT_DESCRIBED = "point_described"
    """Click what is of a colour, a number among its like, or beside something."""
    READ_AT = "read_at"
    """Say the word at a point."""
    READ_THING = "read_thing"
    """Say what is written on a thing that is described otherwise."""
    VALUE = "value"
    """Say what a field, slider, list box, … holds."""
    STATE = "state"
    """Say whether something is on, open, or selected."""
    COPY = "copy"
    """Type what is written somewhere."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about one page."""

    kind: Kind
    text: str
    """With `<point>x y</point>` in pixels of the screenshot where it asks about a point."""
    reply: Action
    """The right answer; a click counts anywhere in `target`."""
    target: Box
    """Where the answer is to be seen."""


NAMED = ("text", "role")
"""Kinds of description that say a name."""
WRITTEN_ON = frozenset({"button", "link", "tab", "item", "cell", "column head", "heading", "section"})
"""Roles whose name stands on the thing itself."""
PRESSED = WRITTEN_ON - {"cell", "column head", "heading"} | {
    *("icon", "checkbox", "radio button", "switch", "field", "list box", "plus button", "minus button"),
}
"""Roles that are there to be clicked."""
LONGEST = 24
"""Characters of an answer, at most."""

_POINT = ("Click {}.", "Click on {}.", "Press {}.", "Point at {}.", "Where is {}?")
_READ_AT = ("What is written at {}?", "Read the word at {}.", "Which word is at {}?")
_READ_THING = ("What does {} say?", "Read {}.", "What is written on {}?")
_VALUE = ("What is the value of {}?", "What does {} hold?")
_STATE = ("What is the state of {}?", "Which state is {} in?")
_YES_NO = ("Is {} {}?",)
_COPY = ("Type what {} says.", "Type the text of {}.")
_STATES: Mapping[str, str] = {
    "checkbox": "on",
    "radio button": "on",
    "switch": "on",
    "section": "open",
    "list box": "open",
    "tab": "selected",
    "item": "selected",
}
"""Role -> the state a yes-or-no question asks for."""


def questions(page: SeenPage, kinds: Sequence[Kind], draw: random.Random) -> list[Question]:
    """One question for each kind asked for that the page can answer, the same for the same `draw`."""
    asked = (_ASKERS[kind](page, draw) for kind in kinds)
    return [question for question in asked if question is not None]


def is_right(question: Question, actions: Sequence[Action]) -> bool:
    """Whether a reply answers a question: one action, a click inside the target, a text letter by letter."""
    if len(actions) != 1:
        return False
    reply = actions[0]
    if isinstance(question.reply, Click):
        left, top, right, bottom = question.target
        return isinstance(reply, Click) and left <= reply.x <= right and top <= reply.y <= bottom
    return reply == question.reply


def _described(thing: Thing, draw: random.Random, *, named: bool | None = None) -> str | None:
    """Words for a thing; `named`: only such that say its name, or only others."""
    fitting = [each.words for each in thing.descriptions if named is None or (each.kind in NAMED) is named]
    return draw.choice(fitting) if fitting else None


def _first(page: SeenPage, draw: random.Random, ask: Callable[[Thing], Question | None]) -> Question | None:
    """What is asked of the first thing, in an order drawn at random, that can be asked."""
    order = draw.sample(page.things, len(page.things))
    return next((question for thing in order if (question := ask(thing)) is not None), None)


def _pointing(page: SeenPage, draw: random.Random, *, named: bool) -> Question | None:
    def ask(thing: Thing) -> Question | None:
        words = _described(thing, draw, named=named) if thing.role in PRESSED else None
        if words is None:
            return None
        x, y = thing.point
        return Question(
            kind=Kind.POINT_NAMED if named else Kind.POINT_DESCRIBED,
            text=draw.choice(_POINT).format(words),
            reply=Click(x=x, y=y),
            target=thing.box,
        )

    return _first(page, draw, ask)


def _read_at(page: SeenPage, draw: random.Random) -> Question | None:
    words = [word for word in page.words() if _can_be_said(word.text)]
    if not words:
        return None
    word = draw.choice(words)
    left, top, right, bottom = word.box
    x, y = round(left + (right - left) * draw.uniform(0.2, 0.8)), round((top + bottom) / 2)
    return Question(
        kind=Kind.READ_AT,
        text=draw.choice(_READ_AT).format(f"<point>{x} {y}</point>"),
        reply=Answer(text=word.text),
        target=word.box,
    )


def _read_thing(page: SeenPage, draw: random.Random) -> Question | None:
    return _first(page, draw, lambda thing: _reading(thing, draw))


def _reading(thing: Thing, draw: random.Random, *, copied: bool = False) -> Question | None:
    words = _described(thing, draw, named=False) if thing.role in WRITTEN_ON else None
    if words is None or not _can_be_said(thing.name):
        return None
    return Question(
        kind=Kind.COPY if copied else Kind.READ_THING,
        text=draw.choice(_COPY if copied else _READ_THING).format(words),
        reply=TypeText(text=thing.name) if copied else Answer(text=thing.name),
        target=thing.box,
    )


def _copy(page: SeenPage, draw: random.Random) -> Question | None:
    return _first(page, draw, lambda thing: _reading(thing, draw, copied=True))


def _value(page: SeenPage, draw: random.Random) -> Question | None:
    def ask(thing: Thing) -> Question | None:
        words = _described(thing, draw)
        if words is None or not thing.value or not _can_be_said(thing.value):
            return None
        return Question(
            kind=Kind.VALUE,
            text=draw.choice(_VALUE).format(words),
            reply=Answer(text=thing.value),
            target=thing.box,
        )

    return _first(page, draw, ask)


def _state(page: SeenPage, draw: random.Random) -> Question | None:
    def ask(thing: Thing) -> Question | None:
        words = _described(thing, draw) if thing.role in _STATES else None
        if words is None:
            return None
        if thing.state and draw.random() < 0.5:
            text, told = draw.choice(_STATE).format(words), thing.state
        else:
            wanted = _STATES[thing.role]
            text = draw.choice(_YES_NO).format(words, wanted)
            told = "yes" if thing.state == wanted else "no"
        return Question(kind=Kind.STATE, text=text, reply=Answer(text=told), target=thing.box)

    return _first(page, draw, ask)


def _can_be_said(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable()


_ASKERS: Mapping[Kind, Callable[[SeenPage, random.Random], Question | None]] = {
    Kind.POINT_NAMED: lambda page, draw: _pointing(page, draw, named=True),
    Kind.POINT_DESCRIBED: lambda page, draw: _pointing(page, draw, named=False),
    Kind.READ_AT: _read_at,
    Kind.READ_THING: _read_thing,
    Kind.VALUE: _value,
    Kind.STATE: _state,
    Kind.COPY: _copy,
}
