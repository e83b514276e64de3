"""Questions about a page with one right answer each, in the agent's own grammar.

What is pointed at is clicked, what is read or told is answered, what is copied is typed: a model that answers
them has made every kind of reply before it meets a task.
"""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from deskhand_sandbox.tasks.generated import Thing, is_test_word
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.kinds import Kind as Kind
from deskhand_trainer.base.kinds import Question as Question
from deskhand_trainer.base.kinds import is_right as is_right
from deskhand_trainer.base.pages import SeenPage, Word
from deskhand_trainer.base.places import box_around, placed

Found = TypeVar("Found")

NAMED = ("text", "role")
"""Kinds of description that say a name."""
WRITTEN_ON = frozenset(
    {"button", "link", "tab", "item", "cell", "column head", "heading", "section", "letter", "digit"}
)
"""Roles whose name stands on the thing itself."""
LONGEST = 24
"""Characters of an answer, at most."""
LONGEST_WORD = 12
"""Letters of an unseen word, at most."""

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
    Kind.POINT_PLACED: 0.05,
    Kind.READ_BOX: 0.05,
    Kind.COPY_INTO: 0.04,
}
"""How often each kind is asked; reading is learned last."""
ALWAYS = (Kind.POINT_NAMED, Kind.POINT_WORD, Kind.READ_AT)
"""Kinds that most pages can be asked, in this order."""

_POINT = ("Click {}.", "Click on {}.", "Press {}.", "Point at {}.", "Where is {}?")
_WORD = ('"{}"', 'the word "{}"')
_READ_AT = ("What is written at {}?", "Read the word at {}.", "Which word is at {}?")
_READ_BOX = ("What is written in {}?", "Read the text in {}.")
_READ_THING = ("What does {} say?", "Read {}.", "What is written on {}?")
_VALUE = ("What is the value of {}?", "What does {} hold?")
_STATE = ("What is the state of {}?", "Which state is {} in?")
_YES_NO = ("Is {} {}?",)
_COPY = ("Type what {} says.", "Type the text of {}.")
_COPY_INTO = ("Copy {} into {}.", "Copy {} to {}.")
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


def ask(page: SeenPage, kind: Kind, draw: random.Random, *, unseen: bool = False) -> Question | None:
    """A question of a kind, the same for the same `draw`; None where the page has nothing to ask so.

    Args:
        unseen: what is read at a point is a word that test pages alone show, of `LONGEST_WORD` letters at
            most; without, whatever is seen there, numbers and signs that every page shows too.
    """
    if unseen and kind is Kind.READ_AT:
        return _read_at(page, draw, _is_unseen)
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


def value_is_seen(page: SeenPage, thing: Thing) -> bool:
    """Whether what a thing holds is written on the page; a progress bar's is drawn."""
    return thing.role == "progress bar" or page.shows(thing.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Written:
    """Something that is written on a page."""

    words: str
    """For what it is, or for where."""
    text: str
    box: Box
    letters: tuple[Box, ...]

    def asked(self, kind: Kind, forms: tuple[str, ...], draw: random.Random) -> Question:
        return Question(
            kind=kind,
            text=draw.choice(forms).format(self.words),
            reply=TypeText(text=self.text) if kind is Kind.COPY else Answer(text=self.text),
            target=self.box,
            letters=self.letters,
        )


def _described(thing: Thing, draw: random.Random, *, named: bool | None = None) -> str | None:
    """Words for a thing; `named`: only such that say its name, or only others."""
    fitting = [each.words for each in thing.descriptions if named is None or (each.kind in NAMED) is named]
    return draw.choice(fitting) if fitting else None


def _first(page: SeenPage, draw: random.Random, ask: Callable[[Thing], Found | None]) -> Found | None:
    """What is asked of the first thing, in an order drawn at random, that can be asked."""
    below = [thing for thing in page.things if thing.box[3] > page.content_top_px]
    order = draw.sample(below, len(below))
    return next((found for thing in order if (found := ask(thing)) is not None), None)


def _pointing(page: SeenPage, draw: random.Random, *, named: bool) -> Question | None:
    def asked(thing: Thing) -> Question | None:
        words = _described(thing, draw, named=named)
        if words is None:
            return None
        return _clicking(Kind.POINT_NAMED if named else Kind.POINT_DESCRIBED, thing, words, draw)

    return _first(page, draw, asked)


def _clicking(kind: Kind, thing: Thing, words: str, draw: random.Random) -> Question:
    x, y = thing.point
    return Question(
        kind=kind, text=draw.choice(_POINT).format(words), reply=Click(x=x, y=y), target=thing.box
    )


def _point_placed(page: SeenPage, draw: random.Random) -> Question | None:
    """By places on pages alone of which everything is known: the topmost of some may not be that of all."""
    roles = sorted({thing.role for thing in page.things}) if page.complete else []
    for role in draw.sample(roles, len(roles)):
        if found := placed(page, role):
            return _clicking(Kind.POINT_PLACED, *draw.choice(found), draw)
    return None


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


def _word_at(
    page: SeenPage, draw: random.Random, fits: Callable[[str], bool] = lambda _: True
) -> _Written | None:
    words = [word for word in _words(page) if fits(word.text)]
    if not words:
        return None
    word = draw.choice(words)
    left, top, right, bottom = word.box
    x, y = round(left + (right - left) * draw.uniform(0.2, 0.8)), round((top + bottom) / 2)
    return _Written(words=f"<point>{x} {y}</point>", text=word.text, box=word.box, letters=word.letters)


def _read_at(
    page: SeenPage, draw: random.Random, fits: Callable[[str], bool] = lambda _: True
) -> Question | None:
    found = _word_at(page, draw, fits)
    return None if found is None else found.asked(Kind.READ_AT, _READ_AT, draw)


def _on_thing(page: SeenPage, draw: random.Random) -> _Written | None:
    def written(thing: Thing) -> _Written | None:
        words = _described(thing, draw, named=False) if thing.role in WRITTEN_ON else None
        if words is None or not _can_be_said(thing.name) or not page.shows(thing.name):
            return None
        letters = page.letters(thing.name, thing.box)
        return _Written(words=words, text=thing.name, box=thing.box, letters=letters)

    return _first(page, draw, written)


def _read_thing(page: SeenPage, draw: random.Random) -> Question | None:
    found = _on_thing(page, draw)
    return None if found is None else found.asked(Kind.READ_THING, _READ_THING, draw)


def _copy(page: SeenPage, draw: random.Random) -> Question | None:
    found = _on_thing(page, draw)
    return None if found is None else found.asked(Kind.COPY, _COPY, draw)


def _read_box(page: SeenPage, draw: random.Random) -> Question | None:
    """Of several words on one thing as often as of one word alone, where there are such."""

    def several(thing: Thing) -> _Written | None:
        told = thing.role in WRITTEN_ON and " " in thing.name and _can_be_said(thing.name)
        return _in_box(page, thing.name, page.letters(thing.name, thing.box)) if told else None

    found = _first(page, draw, several) if draw.random() < 0.5 else None
    if found is None:
        words = _words(page)
        tried = (_in_box(page, word.text, word.letters) for word in draw.sample(words, len(words)))
        found = next((each for each in tried if each is not None), None)
    return None if found is None else found.asked(Kind.READ_BOX, _READ_BOX, draw)


def _in_box(page: SeenPage, text: str, letters: tuple[Box, ...]) -> _Written | None:
    """In a box from point to point, as the grammar has it: a coordinate is one token in a point alone."""
    box = box_around(page, letters) if letters else None
    if box is None:
        return None
    left, top, right, bottom = box
    words = f"the box from <point>{left} {top}</point> to <point>{right} {bottom}</point>"
    return _Written(words=words, text=text, box=(left, top, right, bottom), letters=letters)


def _copy_into(page: SeenPage, draw: random.Random) -> Question | None:
    """Into fields that hold nothing and have no caret: after a click what is typed is all they hold."""

    def asked(field: Thing) -> Question | None:
        empty = field.role == "field" and not field.value and not field.state
        words = _described(field, draw) if empty else None
        if words is None:
            return None
        by_point = draw.random() < 0.5
        source = _word_at(page, draw) if by_point else _on_thing(page, draw)
        if source is None or source.text in words:
            return None
        what = f"the word at {source.words}" if by_point else f"what {source.words} says"
        x, y = field.point
        return Question(
            kind=Kind.COPY_INTO,
            text=draw.choice(_COPY_INTO).format(what, words),
            reply=Click(x=x, y=y),
            target=field.box,
            letters=source.letters,
            then=TypeText(text=source.text),
            copied=source.box,
        )

    return _first(page, draw, asked)


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


def _is_unseen(text: str) -> bool:
    return text.isalpha() and len(text) <= LONGEST_WORD and is_test_word(text)


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
    Kind.POINT_PLACED: _point_placed,
    Kind.READ_BOX: _read_box,
    Kind.COPY_INTO: _copy_into,
}
PAGE_KINDS = tuple(_ASKERS)
"""Kinds that one picture is enough for."""
