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
from deskhand_trainer.base.questions import Kind, ask


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


def test_a_released_model_is_asked_nothing(bundle: ModelBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="already sees"):
        Asker(replace(bundle, tiny=None))


def test_every_word_of_generated_pages_can_be_spelled() -> None:
    text = files("deskhand_sandbox.tasks").joinpath("pages/generated/words.js").read_text()
    _, _, words = text.partition("WORDS = {")
    known = {*CHARACTERS, *LATIN}
    assert not {cased for each in words for cased in (each, each.upper()) if not set(cased) <= known}
