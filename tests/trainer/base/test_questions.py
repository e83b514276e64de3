"""Questions have one right answer, and it is on the page."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import LONGEST, PAGE_KINDS, Kind, Question, ask, ask_many, is_right

pytestmark = pytest.mark.browser


def asked(seen_pages: list[SeenPage], times: int = 4) -> list[tuple[SeenPage, Question]]:
    draw = random.Random(7)
    return [
        (page, question)
        for page in seen_pages
        for _ in range(times)
        for question in (ask(page, kind, draw) for kind in PAGE_KINDS)
        if question is not None
    ]


def test_every_kind_is_asked(seen_pages: list[SeenPage]) -> None:
    counts = Counter(question.kind for _, question in asked(seen_pages))
    assert set(counts) == set(PAGE_KINDS)
    assert min(counts.values()) >= len(seen_pages) // 2


def test_the_same_draw_asks_the_same(seen_pages: list[SeenPage]) -> None:
    assert asked(seen_pages) == asked(seen_pages)


def test_what_is_clicked_is_in_the_picture_and_under_the_click(seen_pages: list[SeenPage]) -> None:
    for page, question in asked(seen_pages):
        if question.target is None:
            assert question.kind is Kind.WRITE
            continue
        left, top, right, bottom = question.target
        assert 0 <= left < right <= page.image.width_px
        assert 0 <= top < bottom <= page.image.height_px
        if isinstance(question.reply, Click):
            assert left <= question.reply.x <= right and top <= question.reply.y <= bottom


def test_what_is_to_be_typed_stands_in_the_question(seen_pages: list[SeenPage]) -> None:
    """As it is, or in the letters that are asked for; often it is no word at all."""
    told = [question for _, question in asked(seen_pages, 8) if question.kind is Kind.WRITE]
    typed: list[str] = []
    for question in told:
        assert isinstance(question.reply, TypeText) and 0 < len(question.reply.text) <= 2 * LONGEST
        said = question.text.split('"')[1]
        changed = {"upper case": str.upper, "lower case": str.lower}
        how = next((change for form, change in changed.items() if form in question.text), str)
        assert question.reply.text == how(said)
        typed.append(said)
    on_pages = {word.text for page in seen_pages for word in page.words()[0]}
    strange = [each for each in typed if not set(each.split()) <= on_pages]
    assert 0.3 < len(strange) / len(typed) < 0.7


def test_what_is_read_is_written_there(seen_pages: list[SeenPage]) -> None:
    outside: set[object] = set()
    for page, question in asked(seen_pages):
        if question.kind not in (Kind.READ_AT, Kind.READ_THING, Kind.COPY):
            continue
        assert question.target is not None
        text = question.reply.text  # type: ignore[union-attr]
        left, top, right, bottom = question.target
        written = "".join(
            each.character
            for each in page.characters
            if left - 1 <= (each.box[0] + each.box[2]) / 2 <= right + 1
            and top - 1 <= (each.box[1] + each.box[3]) / 2 <= bottom + 1
        )
        if text.replace(" ", "").lower() not in written.lower():
            outside.add(question.target)
        assert 0 < len(text) <= LONGEST
    assert len(outside) <= 2  # names that are wider than their buttons begin before them


def test_what_is_named_or_told_is_to_be_read(
    seen_pages: list[SeenPage], seen_changes: list[SeenChange]
) -> None:
    """A field's name may be in it, behind its value, and letters may be cut off or covered."""
    unread = 0
    for page, question in asked([*seen_pages, *(each.after for each in seen_changes)], 1):
        written = {word.text for word in page.words()[0]}
        written |= {each.removesuffix(":") for each in written}
        for thing in page.things:
            if thing.role != "icon" and not set(thing.name.split()) <= written:
                assert not re.search(rf"\b{re.escape(thing.name)}\b", question.text)
                unread += 1
        drawn = any(each.role == "progress bar" and each.box == question.target for each in page.things)
        if question.kind in (Kind.VALUE, Kind.READ_THING, Kind.COPY) and not drawn:
            assert set(question.reply.text.split()) <= written  # type: ignore[union-attr]
    assert unread > 20


def test_a_value_that_cannot_be_read_is_not_asked_for(pages: list[SeenPage]) -> None:
    page = pages[0]
    written = replace(page.things[0], role="field", value=page.things[1].name)
    for thing, told in [
        (written, True),
        (replace(written, value="hidden"), False),
        (replace(written, value="50%", role="progress bar"), True),
        (replace(written, value="5", role="slider"), False),
    ]:
        found = ask(replace(page, things=(thing,)), Kind.VALUE, random.Random(0))
        assert (found is not None) == told


def test_icons_drawn_with_characters_are_no_words(pages: list[SeenPage]) -> None:
    """The arrow of a list box is not to be read; a plus that a keyboard has is."""
    page = pages[0]
    alone = (
        replace(page.characters[0], character=each, word=i, box=(20.0 * i, 20.0, 20.0 * i + 9, 30.0))
        for i, each in enumerate("▾+é")
    )
    shown, draw = replace(page, characters=tuple(alone)), random.Random(3)
    read = {question.reply for _ in range(60) if (question := ask(shown, Kind.READ_AT, draw))}
    assert read == {Answer(text="+"), Answer(text="é")}


def test_every_letter_of_what_is_read_has_its_place(seen_pages: list[SeenPage]) -> None:
    outside: set[object] = set()
    for page, question in asked(seen_pages):
        if question.kind not in (Kind.READ_AT, Kind.READ_THING, Kind.COPY):
            assert not question.letters or question.kind is Kind.VALUE
            continue
        text = question.reply.text  # type: ignore[union-attr]
        shown = {each.box: each.character for each in page.characters}
        if not question.letters:
            outside.add(question.target)
            continue
        assert len(question.letters) == len(text)
        for place, letter in zip(question.letters, text, strict=True):
            assert letter in (" ", shown[place])
    assert len(outside) <= 2  # names that are wider than their buttons begin before them


def test_where_more_is_written_than_is_asked_no_letter_has_a_place(pages: list[SeenPage]) -> None:
    first, second = pages[0].words()[0][:2]
    whole = (0.0, 0.0, 64.0, 64.0)
    assert pages[0].letters(first.text, first.box) == first.letters
    both = pages[0].letters(f"{first.text} {second.text}", whole)
    assert both == (*first.letters, second.letters[0], *second.letters)
    assert pages[0].letters(first.text, whole) == ()


def test_a_description_says_no_name_where_it_is_to_be_read(seen_pages: list[SeenPage]) -> None:
    for _, question in asked(seen_pages):
        if question.kind in (Kind.READ_THING, Kind.COPY):
            assert question.reply.text not in question.text  # type: ignore[union-attr]


def test_states_and_values_are_those_of_the_page(seen_pages: list[SeenPage]) -> None:
    for page, question in asked(seen_pages):
        things = [thing for thing in page.things if thing.box == question.target]
        if question.kind is Kind.VALUE:
            assert question.reply in [Answer(text=thing.value) for thing in things]
        if question.kind is Kind.STATE:
            assert isinstance(question.reply, Answer)
            told = question.reply.text
            if told in ("yes", "no"):
                wanted = question.text.rstrip("?").split()[-1]
                assert any((thing.state == wanted) == (told == "yes") for thing in things)
            else:
                assert told in [thing.state for thing in things]


def test_replies_are_the_agents_own(seen_pages: list[SeenPage]) -> None:
    for _, question in asked(seen_pages, times=1):
        parsed = parse_reply(format_reply(None, (question.reply,)))
        assert parsed.actions == (question.reply,)


def test_a_page_without_anything_is_asked_nothing(seen_pages: list[SeenPage]) -> None:
    empty = replace(seen_pages[0], things=(), characters=())
    assert ask_many(empty, 3, random.Random(0)) == []
    assert all(ask(empty, kind, random.Random(0)) is None for kind in Kind)


def test_right_is_a_click_anywhere_inside_and_a_text_to_the_letter() -> None:
    click = Question(
        kind=Kind.POINT_NAMED, text="Click OK.", reply=Click(x=5, y=5), target=(0.0, 0.0, 10.0, 10.0)
    )
    assert is_right(click, [Click(x=9, y=1)])
    assert not is_right(click, [Click(x=11, y=1)])
    assert not is_right(click, [Click(x=5, y=5), Click(x=5, y=5)])
    assert not is_right(click, [])
    reading = replace(click, kind=Kind.COPY, reply=TypeText(text="OK"))
    assert is_right(reading, [TypeText(text="OK")])
    assert not is_right(reading, [TypeText(text="ok")])
    assert not is_right(reading, [Answer(text="OK")])


def test_only_what_lies_below_is_asked_for(pages: list[SeenPage]) -> None:
    assert ask_many(replace(pages[0], content_top_px=60.0), 3, random.Random(0)) == []
    assert len(ask_many(pages[0], 3, random.Random(0))) == 3


def test_a_word_that_stands_twice_is_not_pointed_at(pages: list[SeenPage]) -> None:
    page = pages[0]
    assert ask(page, Kind.POINT_WORD, random.Random(0)) is not None
    first = [each for each in page.characters if each.word == 0]
    twice = replace(page, characters=(*first, *(replace(each, word=1) for each in first)))
    assert ask(twice, Kind.POINT_WORD, random.Random(0)) is None


def test_pages_that_can_be_asked_are_asked_as_often_as_wanted(seen_pages: list[SeenPage]) -> None:
    for page in seen_pages:
        found = ask_many(page, 12, random.Random(3))
        assert len(found) == 12
        assert found == ask_many(page, 12, random.Random(3))
