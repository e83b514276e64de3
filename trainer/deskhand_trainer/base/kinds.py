"""What a question is, and which reply answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Action, Click, TypeText


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
    POINT_PLACED = "point_placed"
    """Click what stands somewhere on the page: in a corner, or above all its like."""
    READ_BOX = "read_box"
    """Say what is written in a box."""
    COPY_INTO = "copy_into"
    """Click a field and type into it what is written elsewhere, in one reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question about one page, or about two pictures of it."""

    kind: Kind
    text: str
    """With `<point>x y</point>` in pixels of the screenshot where it asks about a point."""
    reply: Action
    """The right answer, or how it begins; a click counts anywhere in `target`."""
    target: Box | None
    """Where the answer is to be seen; None where it is not on the page."""
    letters: tuple[Box, ...] = ()
    """Where each character of a written answer is to be seen, where that is known."""
    before: bool = False
    """The target is in the first of two pictures; all others are in the last."""
    then: TypeText | None = None
    """What the reply goes on with after its click. The grammar takes several calls, so one picture is enough;
    in a turn of its own it could be typed only where a picture shows the caret in the field."""
    copied: Box | None = None
    """Where that is to be seen."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """The whole reply."""
        return (self.reply,) if self.then is None else (self.reply, self.then)

    @property
    def written(self) -> str:
        """What the reply says or types; empty where that is nothing."""
        return getattr(self.actions[-1], "text", "")


def is_right(question: Question, actions: Sequence[Action]) -> bool:
    """Whether a reply answers a question: no action more, a click inside the target, a text to the letter."""
    if len(actions) != len(question.actions) or tuple(actions[1:]) != question.actions[1:]:
        return False
    reply = actions[0]
    if isinstance(question.reply, Click):
        assert question.target is not None
        left, top, right, bottom = question.target
        if not isinstance(reply, Click) or replace(question.reply, x=reply.x, y=reply.y) != reply:
            return False
        return left <= reply.x <= right and top <= reply.y <= bottom
    return reply == question.reply
