"""Questions have one right answer, and it is on the page."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.grammar import format_reply, parse_reply
from deskhand_sandbox.tasks.layout import CharacterBox
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.pages import SeenPage, within
from deskhand_trainer.base.questions import LONGEST, PAGE_KINDS, Kind, Question, ask, ask_many, is_right

pytestmark = pytest.mark.browser
PLACES = (
    "topmost", "lowest", "leftmost", "rightmost",
    "top left", "top right", "bottom left", "bottom right", "middle",
)  # fmt: skip
UNSEEN, UNSEEN_LONG = "notice", "understanding"
READING = (Kind.READ_AT, Kind.READ_BOX, Kind.READ_THING, Kind.COPY)


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
        if question.kind not in (*READING, Kind.COPY_INTO):
            continue
        place = question.copied if question.kind is Kind.COPY_INTO else question.target
        assert place is not None
        text = question.written
        left, top, right, bottom = place
        written = "".join(
            each.character
            for each in page.characters
            if left - 1 <= (each.box[0] + each.box[2]) / 2 <= right + 1
            and top - 1 <= (each.box[1] + each.box[3]) / 2 <= bottom + 1
        )
        if text.replace(" ", "").lower() not in written.lower():
            outside.add(place)
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
        if question.kind not in (*READING, Kind.COPY_INTO):
            assert not question.letters or question.kind is Kind.VALUE
            continue
        text = question.written
        shown = {each.box: each.character for each in page.characters}
        if not question.letters:
            outside.add(question.copied or question.target)
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
        if question.kind in (Kind.READ_THING, Kind.COPY, Kind.COPY_INTO):
            assert question.written not in question.text


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


def test_what_is_called_by_its_place_is_there_alone(seen_pages: list[SeenPage]) -> None:
    words: Counter[str] = Counter()
    for page, question in asked(seen_pages, 12):
        if question.kind is not Kind.POINT_PLACED:
            continue
        (thing,) = (each for each in page.things if each.box == question.target)
        others = [each.box for each in page.things if each.role.endswith(thing.role) and each is not thing]
        left, top, right, bottom = thing.box
        x, y = (left + right) / 2 / page.image.width_px, (top + bottom) / 2 / page.image.height_px
        (place,) = (each for each in PLACES if each in question.text)
        there = {
            "topmost": all(each[1] >= bottom - 1 for each in others),
            "lowest": all(each[3] <= top + 1 for each in others),
            "leftmost": all(each[0] >= right - 1 for each in others),
            "rightmost": all(each[2] <= left + 1 for each in others),
            "top left": x < 0.34 and y < 0.34,
            "top right": x > 0.66 and y < 0.34,
            "bottom left": x < 0.34 and y > 0.66,
            "bottom right": x > 0.66 and y > 0.66,
            "middle": 0.33 < x < 0.67 and 0.33 < y < 0.67,
        }
        assert there[place] and f" {thing.role}" in question.text
        words[place] += 1
    assert len(words) >= 6


def test_a_box_holds_what_is_to_be_read_and_no_other_letter(seen_pages: list[SeenPage]) -> None:
    """As the model is told it; half of the boxes hold several words where a thing has several."""
    several = 0
    for page, question in asked(seen_pages):
        if question.kind is not Kind.READ_BOX:
            continue
        points = re.findall(r"<point>(\d+) (\d+)</point>", question.text)
        told = [int(each) for point in points for each in point]
        assert len(told) == 4
        frame = CoordinateSystem(kind="grid", step=4).frame((page.image.width_px, page.image.height_px))
        box = (*frame.to_model((told[0], told[1])), *frame.to_model((told[2], told[3])))
        assert box == tuple(told) == question.target
        assert isinstance(question.reply, Answer)
        inside = "".join(each.character for each in page.characters if within(each.box, box))
        assert inside == question.reply.text.replace(" ", "")
        several += " " in question.reply.text
    assert several > 3


def test_a_word_is_copied_into_an_empty_field(seen_pages: list[SeenPage]) -> None:
    at_points = 0
    for page, question in asked(seen_pages):
        if question.kind is not Kind.COPY_INTO:
            continue
        (field,) = (each for each in page.things if each.box == question.target)
        assert (field.role, field.value) == ("field", "")
        click, typed = question.actions
        assert isinstance(click, Click) and isinstance(typed, TypeText)
        assert question.text.startswith("Copy ")
        if told := re.findall(r"<point>(\d+) (\d+)</point>", question.text):
            ((x, y),) = told
            assert question.copied is not None
            left, top, right, bottom = question.copied
            assert left <= int(x) <= right and top <= int(y) <= bottom
            at_points += 1
        assert is_right(question, [click, typed])
        assert is_right(question, [replace(click, x=round(field.box[0]) + 1), typed])
        assert not is_right(question, [click])
        assert not is_right(question, [typed])
        assert not is_right(question, [typed, click])
        assert not is_right(question, [click, typed, typed])
        assert not is_right(question, [click, replace(typed, text=typed.text + "s")])
        assert not is_right(question, [replace(click, y=round(field.box[3]) + 2), typed])
    assert at_points > 3


def test_fields_with_text_or_the_caret_are_not_copied_into(pages: list[SeenPage]) -> None:
    words = pages[0].things
    field = replace(words[1], role="field", box=(4.0, 2.0, 60.0, 12.0), point=(32, 7))
    for each, told in [
        (field, True),
        (replace(field, value="red"), False),
        (replace(field, state="focus"), False),
    ]:
        found = ask(replace(pages[0], things=(words[0], each)), Kind.COPY_INTO, random.Random(2))
        assert (found is not None) == told


def test_replies_are_the_agents_own(seen_pages: list[SeenPage]) -> None:
    for _, question in asked(seen_pages, times=1):
        parsed = parse_reply(format_reply(None, question.actions))
        assert parsed.actions == question.actions


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


def test_an_unseen_word_is_of_letters_alone_and_on_test_pages_alone(seen_pages: list[SeenPage]) -> None:
    """Of what a test page shows, neither numbers nor signs nor what training pages show, too."""
    # by the pages' own hash the second and the third are words of the test, and one of them is long
    shown = ("the", UNSEEN, UNSEEN_LONG, "37", "+", "Name:")
    page = replace(seen_pages[0], things=(), characters=tuple(_written(shown)))
    draws = [random.Random(seed) for seed in range(40)]
    read = {ask(page, Kind.READ_AT, draw).reply.text for draw in draws}  # type: ignore[union-attr]
    assert read == set(shown)
    for draw in draws:
        question = ask(page, Kind.READ_AT, draw, unseen=True)
        assert question is not None and question.reply == Answer(text=UNSEEN)
    trained = replace(page, characters=tuple(_written(("the", "37"))))
    assert ask(trained, Kind.READ_AT, draws[0], unseen=True) is None
    # what else is asked, and what training asks, is what it was
    for kind in PAGE_KINDS:
        told = [ask(seen_pages[1], kind, random.Random(5), unseen=unseen) for unseen in (False, True)]
        assert told[0] == told[1] or kind is Kind.READ_AT


def _written(words: Sequence[str]) -> Iterator[CharacterBox]:
    for line, word in enumerate(words):
        for place, character in enumerate(word):
            box = (5.0 * place, 12.0 * line, 5.0 * place + 5, 12.0 * line + 10)
            yield CharacterBox(character=character, box=box, element=None, word=line)
