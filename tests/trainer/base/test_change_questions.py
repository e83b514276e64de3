"""Questions about two pictures have one right answer, and it is to be seen."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_sandbox.tasks.generated import Thing
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.change_questions import (
    CHANGE_KINDS,
    LONGEST_CHANGE,
    NOTHING,
    ask_about,
    ask_change,
    changed_thing,
)
from deskhand_trainer.base.changes import FOCUS, SELECTED, SeenChange
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import Kind, Question, is_right


def asked(seen_changes: list[SeenChange], kind: Kind) -> list[tuple[SeenChange, Question]]:
    draw = random.Random(5)
    pairs = [(change, ask_change(change, kind, draw)) for change in seen_changes]
    return [(change, question) for change, question in pairs if question is not None]


@pytest.mark.browser
@pytest.mark.slow
def test_both_kinds_are_asked_of_most_changes(seen_changes: list[SeenChange]) -> None:
    for kind in CHANGE_KINDS:
        assert len(asked(seen_changes, kind)) > len(seen_changes) / 2
        assert asked(seen_changes, kind) == asked(seen_changes, kind)


@pytest.mark.browser
def test_what_is_told_to_have_changed_did(seen_changes: list[SeenChange]) -> None:
    told = Counter[str]()
    for change, question in asked(seen_changes, Kind.CHANGE):
        assert isinstance(question.reply, Answer)
        text = question.reply.text
        assert len(text) <= LONGEST_CHANGE
        same = change.before.image.digest == change.after.image.digest
        assert (text == NOTHING) == same
        if same:
            continue
        name, _, what = text.partition(": ")
        (thing,) = [each for each in change.after.things if each.box == question.target and each.name == name]
        assert what in (thing.state, thing.value, f'"{thing.value}"')
        earlier = {(each.role, each.name): each for each in change.before.things}[thing.role, name]
        assert (thing.state, thing.value) != (earlier.state, earlier.value)
        told[what if what == thing.state else "value"] += 1
    assert {"on", "off", "value", FOCUS, "selected", "open"} <= set(told)


@pytest.mark.browser
def test_the_action_asked_for_is_the_one_taken(seen_changes: list[SeenChange]) -> None:
    for change, question in asked(seen_changes, Kind.ACTION):
        assert change.before.image.digest != change.after.image.digest
        assert question.reply == change.action
        assert parse_reply(format_reply(None, (question.reply,))).actions == (question.reply,)
        assert is_right(question, [question.reply]) or isinstance(question.reply, Click)
        if isinstance(question.reply, TypeText):
            assert question.reply.text in [thing.value for thing in change.after.things]
            assert not question.before
        else:
            assert question.target == change.target
            assert question.before


@pytest.mark.browser
def test_behind_two_pictures_the_last_is_the_present_one(seen_changes: list[SeenChange]) -> None:
    for change in seen_changes[:40]:
        found = ask_about(change, 12, random.Random(1), told=False)
        assert len(found) == 12
        about_now = [each for each in found if each.kind not in CHANGE_KINDS]
        assert about_now
        assert not any(each.before for each in about_now)
        told = ask_about(change, 12, random.Random(1), told=True)
        assert Kind.ACTION not in {each.kind for each in told}


def thing(role: str, name: str, *, state: str = "", value: str = "") -> Thing:
    box = (10.0, 20.0, 30.0, 40.0)
    return Thing(
        role=role, name=name, tone="", state=state, value=value, box=box, point=(20, 30), descriptions=()
    )


def change(page: SeenPage, before: list[Thing], after: list[Thing]) -> SeenChange:
    return SeenChange(
        turn=0,
        before=replace(page, things=tuple(before)),
        action=Click(x=20, y=30),
        target=(10.0, 20.0, 30.0, 40.0),
        after=replace(page, things=tuple(after), image=replace(page.image, digest="another")),
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # another radio button, item or tab went off thereby
        ([("radio button", "a", "on", ""), ("radio button", "b", "off", "")], ["off", "on"], "b: on"),
        ([("item", "a", "selected", ""), ("item", "b", "", "")], ["", "selected"], "b: selected"),
        # a field lost the caret thereby
        ([("field", "a", FOCUS, ""), ("checkbox", "b", "on", "")], ["", "off"], "b: off"),
        ([("field", "a", FOCUS, ""), ("field", "b", "", "")], ["", SELECTED], "b: selected"),
        ([("list box", "a", "closed", "x"), ("field", "b", FOCUS, "")], ["open", ""], "a: open"),
        # two at once, and nothing that has come on
        ([("checkbox", "a", "on", ""), ("checkbox", "b", "on", "")], ["off", "off"], None),
        ([("field", "a", FOCUS, ""), ("button", "b", "", "")], ["", ""], None),
        ([("checkbox", "a", "on", ""), ("checkbox", "a", "off", "")], ["on", "on"], None),
    ],
)
def test_one_thing_changed(
    pages: list[SeenPage], before: list[tuple[str, ...]], after: list[str], told: str | None
) -> None:
    first = [thing(role, name, state=state, value=value) for role, name, state, value in before]
    last = [replace(each, state=state) for each, state in zip(first, after, strict=True)]
    found = changed_thing(change(pages[0], first, last))
    assert (found and f"{found.name}: {found.state}") == told


def test_a_list_box_that_closed_may_have_been_clicked_or_its_row(pages: list[SeenPage]) -> None:
    page = pages[0]
    name = page.things[0].name
    opened = thing("list box", name, state="open", value="teal")
    closed = replace(opened, state="closed")
    draw = random.Random(0)
    same = change(page, [opened], [closed])
    assert ask_change(same, Kind.ACTION, draw) is None
    assert ask_change(change(page, [closed], [opened]), Kind.ACTION, draw) is not None
    told = ask_change(same, Kind.CHANGE, draw)
    assert told is not None
    assert told.reply == Answer(text=f"{name}: closed")


def test_what_is_nowhere_written_is_not_asked_for(pages: list[SeenPage]) -> None:
    page, draw = pages[0], random.Random(0)
    name, word = page.things[0].name, page.things[1].name
    written = change(page, [thing("field", name)], [thing("field", name, value=word)])
    told = ask_change(written, Kind.CHANGE, draw)
    assert told is not None
    assert told.reply == Answer(text=f'{name}: "{word}"')
    unseen_name = change(page, [thing("field", "hidden")], [thing("field", "hidden", value=word)])
    assert ask_change(unseen_name, Kind.CHANGE, draw) is None
    unseen_value = change(page, [thing("field", name)], [thing("field", name, value="hidden")])
    assert ask_change(unseen_value, Kind.CHANGE, draw) is None
    typed = replace(unseen_value, action=TypeText(text="hidden"), target=None)
    assert ask_change(typed, Kind.ACTION, draw) is None
    number = change(page, [thing("slider", name, value="3")], [thing("slider", name, value=word)])
    told = ask_change(number, Kind.CHANGE, draw)
    assert told is not None
    assert told.reply == Answer(text=f"{name}: {word}")


def test_a_right_click_is_the_same_click_anywhere_inside() -> None:
    question = Question(
        kind=Kind.ACTION,
        text="Which action led here?",
        reply=Click(x=5, y=5, count=3),
        target=(0.0, 0.0, 10.0, 10.0),
        before=True,
    )
    assert is_right(question, [Click(x=9, y=1, count=3)])
    assert not is_right(question, [Click(x=9, y=1)])
    assert not is_right(question, [Click(x=9, y=1, count=3, button="right")])
    assert not is_right(question, [TypeText(text="x")])
