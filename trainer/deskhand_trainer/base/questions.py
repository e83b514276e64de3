"""Questions about a page with one right answer each, in the agent's own grammar.

What is pointed at is clicked, what is read or told is answered, what is copied is typed: a model that answers
them has made every kind of reply before it meets a task.
"""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from deskhand_sandbox.tasks.generated import Thing
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Action, Answer, Click, TypeText
from deskhand_trainer.base.pages import SeenPage, Word


class Kind(StrEnum):
    """What a question asks of a model."""

    POINT_NAMED = "point_named"
    """Click what is called so."""
    POINT_DESCRIBED = "point_described"
    """Click what is of a colour, a number among its like, or beside something."""
    POINT_WORD = "point_word"
    """Click a word."""
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
    WRITE = "write"
    """Type what the question says, as it stands there or in other letters."""
    CHANGE = "change"
    """Say what changed between two pictures."""
    ACTION = "action"
    """Do what led from one picture to the next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about one page, or about two pictures of it."""

    kind: Kind
    text: str
    """With `<point>x y</point>` in pixels of the screenshot where it asks about a point."""
    reply: Action
    """The right answer; a click counts anywhere in `target`."""
    target: Box | None
    """Where the answer is to be seen; None where it is not on the page."""
    letters: tuple[Box, ...] = ()
    """Where each character of a written answer is to be seen, where that is known."""
    before: bool = False
    """The target is in the first of two pictures; all others are in the last."""


NAMED = ("text", "role")
"""Kinds of description that say a name."""
WRITTEN_ON = frozenset(
    {"button", "link", "tab", "item", "cell", "column head", "heading", "section", "letter", "digit"}
)
"""Roles whose name stands on the thing itself."""
LONGEST = 24
"""Characters of an answer, at most."""

SHARES: Mapping[Kind, float] = {
    Kind.POINT_NAMED: 0.15,
    Kind.POINT_DESCRIBED: 0.2,
    Kind.POINT_WORD: 0.05,
    Kind.READ_AT: 0.3,
    Kind.READ_THING: 0.1,
    Kind.VALUE: 0.05,
    Kind.STATE: 0.1,
    Kind.COPY: 0.05,
    Kind.WRITE: 0.06,
}
"""How often each kind is asked; reading is learned last."""
ALWAYS = (Kind.POINT_NAMED, Kind.POINT_WORD, Kind.READ_AT)
"""Kinds that most pages can be asked, in this order."""

_POINT = ("Click {}.", "Click on {}.", "Press {}.", "Point at {}.", "Where is {}?")
_WORD = ('"{}"', 'the word "{}"')
_READ_AT = ("What is written at {}?", "Read the word at {}.", "Which word is at {}?")
_READ_THING = ("What does {} say?", "Read {}.", "What is written on {}?")
_VALUE = ("What is the value of {}?", "What does {} hold?")
_STATE = ("What is the state of {}?", "Which state is {} in?")
_YES_NO = ("Is {} {}?",)
_COPY = ("Type what {} says.", "Type the text of {}.")
_WRITE = ('Type "{}".', 'Enter "{}".', 'Write "{}" into the field.', 'Type the text "{}" and nothing else.')
_WRITE_AS: Mapping[str, Callable[[str], str]] = {
    'Type "{}" in upper case letters.': str.upper,
    'Enter "{}" in all lower case.': str.lower,
}
_ALPHABETS = (
    string.ascii_lowercase,
    string.ascii_letters,
    string.ascii_letters + string.digits,
    string.digits,
)
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


def ask(page: SeenPage, kind: Kind, draw: random.Random) -> Question | None:
    """A question of a kind, the same for the same `draw`; None where the page has nothing to ask so."""
    asker = _ASKERS.get(kind)
    return None if asker is None else asker(page, draw)


def ask_many(page: SeenPage, count: int, draw: random.Random) -> list[Question]:
    """Questions of kinds drawn by `SHARES`, others of `ALWAYS` in place of what cannot be asked.

    Returns:
        `count` of them, or none where a page has nothing to ask at all.
    """
    drawn = draw.choices(list(SHARES), weights=list(SHARES.values()), k=count)
    found: list[Question] = []
    for kind in drawn:
        tried = (ask(page, each, draw) for each in (kind, *ALWAYS))
        question = next((each for each in tried if each is not None), None)
        if question is None:
            return []
        found.append(question)
    return found


def is_right(question: Question, actions: Sequence[Action]) -> bool:
    """Whether a reply answers a question: one action, its click inside the target, its text to the letter."""
    if len(actions) != 1:
        return False
    reply = actions[0]
    if isinstance(question.reply, Click):
        assert question.target is not None
        left, top, right, bottom = question.target
        if not isinstance(reply, Click) or replace(question.reply, x=reply.x, y=reply.y) != reply:
            return False
        return left <= reply.x <= right and top <= reply.y <= bottom
    return reply == question.reply


def value_is_seen(page: SeenPage, thing: Thing) -> bool:
    """Whether what a thing holds is written on the page; a progress bar's is drawn."""
    return thing.role == "progress bar" or page.shows(thing.value)


def _described(thing: Thing, draw: random.Random, *, named: bool | None = None) -> str | None:
    """Words for a thing; `named`: only such that say its name, or only others."""
    fitting = [each.words for each in thing.descriptions if named is None or (each.kind in NAMED) is named]
    return draw.choice(fitting) if fitting else None


def _first(page: SeenPage, draw: random.Random, ask: Callable[[Thing], Question | None]) -> Question | None:
    """What is asked of the first thing, in an order drawn at random, that can be asked."""
    below = [thing for thing in page.things if thing.box[3] > page.content_top_px]
    order = draw.sample(below, len(below))
    return next((question for thing in order if (question := ask(thing)) is not None), None)


def _pointing(page: SeenPage, draw: random.Random, *, named: bool) -> Question | None:
    def asked(thing: Thing) -> Question | None:
        words = _described(thing, draw, named=named)
        if words is None:
            return None
        x, y = thing.point
        return Question(
            kind=Kind.POINT_NAMED if named else Kind.POINT_DESCRIBED,
            text=draw.choice(_POINT).format(words),
            reply=Click(x=x, y=y),
            target=thing.box,
        )

    return _first(page, draw, asked)


def _words(page: SeenPage) -> list[Word]:
    found, _ = page.words()
    return [
        word
        for word in found
        if word.box[1] >= page.content_top_px and _can_be_said(word.text) and not _is_icon(word.text)
    ]


def _point_word(page: SeenPage, draw: random.Random) -> Question | None:
    words = _words(page)
    often = Counter(word.text for word in words)
    once = [word for word in words if often[word.text] == 1 and len(word.text) > 1]
    if not once:
        return None
    word = draw.choice(once)
    left, top, right, bottom = word.box
    return Question(
        kind=Kind.POINT_WORD,
        text=draw.choice(_POINT).format(draw.choice(_WORD).format(word.text)),
        reply=Click(x=int((left + right) / 2), y=int((top + bottom) / 2)),
        target=word.box,
    )


def _read_at(page: SeenPage, draw: random.Random) -> Question | None:
    words = _words(page)
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
        letters=word.letters,
    )


def _read_thing(page: SeenPage, draw: random.Random) -> Question | None:
    return _first(page, draw, lambda thing: _reading(page, thing, draw))


def _reading(page: SeenPage, thing: Thing, draw: random.Random, *, copied: bool = False) -> Question | None:
    words = _described(thing, draw, named=False) if thing.role in WRITTEN_ON else None
    if words is None or not _can_be_said(thing.name) or not page.shows(thing.name):
        return None
    return Question(
        kind=Kind.COPY if copied else Kind.READ_THING,
        text=draw.choice(_COPY if copied else _READ_THING).format(words),
        reply=TypeText(text=thing.name) if copied else Answer(text=thing.name),
        target=thing.box,
        letters=page.letters(thing.name, thing.box),
    )


def _copy(page: SeenPage, draw: random.Random) -> Question | None:
    return _first(page, draw, lambda thing: _reading(page, thing, draw, copied=True))


def _write(page: SeenPage, draw: random.Random) -> Question | None:
    """Words of the page as often as letters at random, which nobody knows by heart."""
    words = _words(page)
    if not words:
        return None
    if draw.random() < 0.5:
        text = " ".join(word.text for word in draw.choices(words, k=draw.choice((1, 1, 2))))[:LONGEST].strip()
    else:
        text = "".join(draw.choices(draw.choice(_ALPHABETS), k=draw.randint(2, 12)))
    if draw.random() < 0.25:
        form = draw.choice(list(_WRITE_AS))
        return _writing(form.format(text), _WRITE_AS[form](text))
    return _writing(draw.choice(_WRITE).format(text), text)


def _writing(text: str, typed: str) -> Question:
    return Question(kind=Kind.WRITE, text=text, reply=TypeText(text=typed), target=None)


def _value(page: SeenPage, draw: random.Random) -> Question | None:
    def asked(thing: Thing) -> Question | None:
        words = _described(thing, draw)
        if words is None or not _can_be_said(thing.value) or not value_is_seen(page, thing):
            return None
        return Question(
            kind=Kind.VALUE,
            text=draw.choice(_VALUE).format(words),
            reply=Answer(text=thing.value),
            target=thing.box,
            letters=page.letters(thing.value, thing.box),
        )

    return _first(page, draw, asked)


def _state(page: SeenPage, draw: random.Random) -> Question | None:
    def asked(thing: Thing) -> Question | None:
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

    return _first(page, draw, asked)


def _is_icon(text: str) -> bool:
    """Drawn with characters that no keyboard has, like the arrow of a list box."""
    return not text.isascii() and not any(each.isalnum() for each in text)


def _can_be_said(text: str) -> bool:
    return 0 < len(text) <= LONGEST and text.isprintable()


_ASKERS: Mapping[Kind, Callable[[SeenPage, random.Random], Question | None]] = {
    Kind.POINT_NAMED: lambda page, draw: _pointing(page, draw, named=True),
    Kind.POINT_DESCRIBED: lambda page, draw: _pointing(page, draw, named=False),
    Kind.POINT_WORD: _point_word,
    Kind.READ_AT: _read_at,
    Kind.READ_THING: _read_thing,
    Kind.VALUE: _value,
    Kind.STATE: _state,
    Kind.COPY: _copy,
    Kind.WRITE: _write,
}
PAGE_KINDS = tuple(_ASKERS)
"""Kinds that one picture is enough for."""
