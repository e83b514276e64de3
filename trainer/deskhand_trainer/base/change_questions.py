"""Questions about two pictures, with one right answer each: what changed, and which action did it.

The answer has to be seen: what changed no pixel is "nothing", and what is nowhere written is not asked for.
"""

from __future__ import annotations

import random
from collections import Counter

from deskhand_sandbox.tasks.generated import Thing
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.changes import FOCUS, SELECTED, SeenChange
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import Kind, Question, ask_many, value_is_seen

CHANGE_KINDS = (Kind.CHANGE, Kind.ACTION)
NOTHING = "nothing"
LONGEST_CHANGE = 40
"""Characters of a change in words, at most."""
CHANGE_SHARE, ACTION_SHARE = 0.3, 0.3
"""Of the questions behind two pictures; the others are about the last one, as if it stood alone."""

_CHANGE = ("What changed?", "What is different now?", "What is new?", "What did the last action change?")
_ACTION = ("Which action led here?", "Which action was it?", "What was done?", "Do that action.")
_NUMBERS = ("number", "slider", "progress bar")
"""Roles whose value is told without quotation marks."""


def ask_change(change: SeenChange, kind: Kind, draw: random.Random) -> Question | None:
    """A question of one of `CHANGE_KINDS`, the same for the same `draw`.

    None where more than one answer would be right, or the right one is not to be seen.
    """
    return _what_changed(change, draw) if kind is Kind.CHANGE else _which_action(change, draw)


def ask_about(change: SeenChange, count: int, draw: random.Random, *, told: bool) -> list[Question]:
    """Questions about a change and about the page it led to.

    Args:
        told: the action is told, so it is not asked for.

    Returns:
        `count` of them; fewer where nothing can be asked of the page, and one of an episode's pictures.
    """
    if not change.after.told:
        question = ask_change(change, Kind.ACTION, draw)
        return [] if question is None else [question]
    kinds = [*CHANGE_KINDS, None]
    weights = [CHANGE_SHARE, 0.0 if told else ACTION_SHARE, 1 - CHANGE_SHARE - ACTION_SHARE]
    found: list[Question] = []
    for kind in draw.choices(kinds, weights=weights, k=count):
        question = None if kind is None else ask_change(change, kind, draw)
        found += ask_many(change.after, 1, draw) if question is None else [question]
    return found


def _what_changed(change: SeenChange, draw: random.Random) -> Question | None:
    if not change.after.told:
        return None
    if change.before.image.digest == change.after.image.digest:
        words, target = NOTHING, _whole(change.after)
    else:
        thing = changed_thing(change)
        if thing is None:
            return None
        words, target = _in_words(change, thing), thing.box
        named = any(page.shows(thing.name) for page in (change.before, change.after))
        if not named or not _value_is_seen(change, thing):
            return None
    if len(words) > LONGEST_CHANGE or not words.isprintable():
        return None
    return Question(kind=Kind.CHANGE, text=draw.choice(_CHANGE), reply=Answer(text=words), target=target)


def _which_action(change: SeenChange, draw: random.Random) -> Question | None:
    if not change.after.told:
        target = change.target or _whole(change.before)
        text = draw.choice(_ACTION)
        return Question(kind=Kind.ACTION, text=text, reply=change.action, target=target, before=True)
    thing = changed_thing(change)
    if thing is None or change.before.image.digest == change.after.image.digest:
        return None
    text = draw.choice(_ACTION)
    if isinstance(change.action, TypeText) and _value_is_seen(change, thing):
        return Question(kind=Kind.ACTION, text=text, reply=change.action, target=thing.box)
    if not isinstance(change.action, Click) or change.target is None:
        return None
    if thing.role == "list box" and thing.state == "closed" and not _has_new_value(change, thing):
        return None  # it was clicked, or the row of what was chosen already
    return Question(kind=Kind.ACTION, text=text, reply=change.action, target=change.target, before=True)


def changed_thing(change: SeenChange) -> Thing | None:
    """The one thing, as it is now, that has another value, has come on, off, open, … or else has the caret.

    What thereby went off, or lost the caret, does not count. None where it is not exactly one.
    """
    earlier, often = _by_name(change.before), Counter(_key(each) for each in change.after.things)
    kept = [each for each in change.after.things if _key(each) in earlier and often[_key(each)] == 1]
    valued = [each for each in kept if each.value != earlier[_key(each)].value]
    risen = [
        each
        for each in kept
        if each.state not in ("", earlier[_key(each)].state)
        and (each.role, each.state) != ("radio button", "off")
        and each not in valued
    ]
    held = [each for each in risen if each.state in (FOCUS, SELECTED)]
    chief = valued + [each for each in risen if each not in held] or held
    return chief[0] if len(chief) == 1 else None


def _in_words(change: SeenChange, thing: Thing) -> str:
    if not _has_new_value(change, thing):
        return f"{thing.name}: {thing.state}"
    return f"{thing.name}: {thing.value}" if thing.role in _NUMBERS else f'{thing.name}: "{thing.value}"'


def _has_new_value(change: SeenChange, thing: Thing) -> bool:
    return thing.value != _by_name(change.before)[_key(thing)].value


def _value_is_seen(change: SeenChange, thing: Thing) -> bool:
    return not _has_new_value(change, thing) or value_is_seen(change.after, thing)


def _by_name(page: SeenPage) -> dict[tuple[str, str], Thing]:
    """Things that no other shares its role and name with."""
    often = Counter(_key(each) for each in page.things)
    return {_key(each): each for each in page.things if often[_key(each)] == 1}


def _key(thing: Thing) -> tuple[str, str]:
    return thing.role, thing.name


def _whole(page: SeenPage) -> Box:
    return 0.0, 0.0, float(page.image.width_px), float(page.image.height_px)
