from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files

import pytest
import torch

from deskhand_agent.grammar import parse_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply
from deskhand_agent.models.vocabulary import CHARACTERS, LATIN
from deskhand_sandbox.types import Answer, Click, TypeText
from deskhand_trainer.base.asking import Asker, Encoded
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import Kind, Question, ask


def encoded(asker: Asker, page: SeenPage) -> Iterator[Encoded]:
    for kind in Kind:
        question = ask(page, kind, random.Random(0))
        if question is not None:
            yield asker.encode(question, (64, 64))


def test_an_answer_is_what_the_question_wants(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    asker = Asker(bundle)
    for page in pages:
        for each in encoded(asker, page):
            (reply,) = parse_reply(decode_reply(bundle, each.answer)).actions
            if isinstance(reply, Click):
                left, top, right, bottom = each.question.target
                assert left <= reply.x <= right
                assert top <= reply.y <= bottom
            else:
                assert reply == each.question.reply


def test_points_in_questions_are_rounded_as_the_models_are(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    asker = Asker(bundle)
    (question,) = [each for each in encoded(asker, pages[0]) if each.question.kind is Kind.READ_AT]
    text = str(bundle.tokenizer.decode(question.ids))
    x, y = text.split("<point>")[1].split("</point>")[0].split()
    assert int(x) % bundle.coordinates.step == int(y) % bundle.coordinates.step == 0
    assert len(question.ids) == len(bundle.tokenizer(text, add_special_tokens=False)["input_ids"])


def test_what_is_predicted_where(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    asker = Asker(bundle)
    asked = [list(encoded(asker, page)) for page in pages[:3]]
    batch = asker.batch(asked, (64, 64))
    assert batch.each.tolist() == [len(each) for each in asked]
    rows, places, ids = batch.words
    assert torch.equal(batch.ids[rows, places + 1], ids)
    rows, places, at = batch.numbers
    said = batch.ids[rows, places + 1]
    said_px = asker.numbers_px[torch.searchsorted(asker.number_ids, said)]
    assert ((said_px - at).abs() <= bundle.coordinates.step / 2 + 0.5).all()
    assert len(said) == 2 * sum(isinstance(each.question.reply, Click) for each in batch.asked)
    answers = sum(len(each.answer) for each in batch.asked)
    assert len(batch.words[0]) + len(said) == answers
    replies = [each.question.reply for each in batch.asked]
    texts = "".join(reply.text for reply in replies if isinstance(reply, Answer | TypeText))
    written = batch.words[2][batch.written].tolist()
    assert texts
    assert "".join(str(bundle.tokenizer.decode([token])) for token in written) == texts
    _, _, cover = batch.looks
    assert cover.any(-1).all()
    assert not cover.all(-1).any()


def test_every_letter_is_looked_at_where_it_stands(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    asker = Asker(bundle)
    question = ask(pages[0], Kind.READ_AT, random.Random(0))
    assert question is not None
    known = asker.encode(question, (64, 64))
    unknown = asker.encode(replace(question, letters=()), (64, 64))
    batch = asker.batch([[known, unknown]], (64, 64))
    rows, _, cover = batch.looks
    opening, *letters, closing, end = cover[rows == 0].view(-1, 4, 4)
    whole = cover[rows == 1].view(-1, 4, 4)
    assert all(torch.equal(each, opening) for each in (closing, end, *whole))
    for (left, top, right, bottom), looked in zip(question.letters, letters, strict=True):
        x, y = int((left + right) / 2) // 16, int((top + bottom) / 2) // 16
        assert looked[y, x]
        assert looked.sum() <= opening.sum()
    assert any(looked.sum() < opening.sum() for looked in letters)


def copying(page: SeenPage, text: str) -> Question:
    """Into a field at the bottom, of a text at the top whose letters stand side by side."""
    letters = tuple((4.0 + 8 * at, 4.0, 12.0 + 8 * at, 12.0) for at in range(len(text)))
    return Question(
        kind=Kind.COPY_INTO,
        text="Copy the word at <point>9 9</point> into the first field.",
        reply=Click(x=30, y=56),
        target=(20.0, 50.0, 40.0, 62.0),
        letters=letters,
        then=TypeText(text=text),
        copied=(4.0, 4.0, 60.0, 12.0),
    )


def test_a_copied_text_is_typed_behind_the_click(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """Its digits are no coordinates, and while it is typed the eye is where it stands, not at the field."""
    asker = Asker(bundle)
    encoded = asker.encode(copying(pages[0], "40a"), (64, 64))
    reply = parse_reply(decode_reply(bundle, encoded.answer)).actions
    assert reply == (Click(x=32, y=56), TypeText(text="40a"))
    batch = asker.batch([[encoded]], (64, 64))
    _, places, at = batch.numbers
    before = len(encoded.ids) - 1
    assert at.tolist() == [30.0, 56.0]
    assert (places - before).tolist() == [1, 3]
    written = batch.words[2][batch.written].tolist()
    assert [bundle.tokenizer.decode([each]) for each in written] == ["4", "0", "a"]
    _, places, cover = batch.looks
    looked = dict(zip((places - before).tolist(), cover.view(-1, 4, 4), strict=True))
    assert sorted(looked) == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert all(looked[place][3, 1:3].all() and looked[place].sum() == 2 for place in range(4))
    for place in (6, 10, 11):
        assert looked[place][0].all() and looked[place].sum() == 4
    assert [looked[place].nonzero().tolist() for place in (7, 9)] == [[[0, 0]], [[0, 1]]]


def test_a_copied_text_with_an_escaped_letter_is_looked_at_as_a_whole(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    asker = Asker(bundle)
    encoded = asker.encode(copying(pages[0], "it's"), (64, 64))
    assert parse_reply(decode_reply(bundle, encoded.answer)).actions[1] == TypeText(text="it's")
    _, places, cover = asker.batch([[encoded]], (64, 64)).looks
    typed = cover[places - len(encoded.ids) + 1 > 5].view(-1, 4, 4)
    assert len(typed) == len(("type", *"it\\'s", "closing", "end"))
    assert all(each[0].all() for each in typed)


def test_a_box_is_told_in_tokens_of_coordinates(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    asker = Asker(bundle)
    question = ask(pages[0], Kind.READ_BOX, random.Random(0))
    assert question is not None and question.target is not None
    known = asker.encode(question, (64, 64))
    numbers = [each for each in known.ids if each in asker.number_ids.tolist()]
    assert [int(bundle.tokenizer.decode([each])) for each in numbers] == list(question.target)
    batch = asker.batch([[known]], (64, 64))
    assert len(question.letters) == len(question.written) == int(batch.written.sum())
    assert not len(batch.numbers[0])
    assert len(batch.looks[0]) == len(known.answer)


def test_a_released_model_is_asked_nothing(bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="already sees"):
        Asker(replace(bundle, tiny=None))


def test_every_word_of_generated_pages_can_be_spelled() -> None:
    text = files("deskhand_sandbox.tasks").joinpath("pages/generated/words.js").read_text()
    _, _, words = text.partition("WORDS = {")
    known = {*CHARACTERS, *LATIN}
    assert not {cased for each in words for cased in (each, each.upper()) if not set(cased) <= known}
