from __future__ import annotations

import random
from dataclasses import replace

import torch

from deskhand_agent.grammar import parse_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import decode_reply
from deskhand_sandbox.types import Click
from deskhand_trainer.sft.pages import PerceptionPage
from deskhand_trainer.sft.questions import Asker, targets_of


def test_only_names_borne_once_are_asked_for(pages: list[PerceptionPage]) -> None:
    page = pages[0]
    assert {t.name for t in targets_of(page)} == {e.label for e in page.elements}
    twin = replace(page, elements=(page.elements[0], replace(page.elements[1], label=page.elements[0].label)))
    assert page.elements[0].label not in {t.name for t in targets_of(twin) if t.kind == "button"}


def test_nothing_above_the_content_is_asked_for(pages: list[PerceptionPage]) -> None:
    assert targets_of(replace(pages[0], content_top_px=60.0)) == []


def test_an_answer_is_a_click_inside_the_target(bundle: ModelBundle, pages: list[PerceptionPage]) -> None:
    asker = Asker(bundle, (64, 64))
    for page in pages:
        for target in targets_of(page):
            question = asker.ask(target, random.Random(0))
            (click,) = parse_reply(decode_reply(bundle, question.answer)).actions
            assert isinstance(click, Click)
            left, top, right, bottom = target.box
            assert left <= click.x <= right
            assert top <= click.y <= bottom


def test_what_is_predicted_where(bundle: ModelBundle, pages: list[PerceptionPage]) -> None:
    asker = Asker(bundle, (64, 64))
    questions = [asker.ask(t, random.Random(1)) for t in targets_of(pages[0])]
    batch = asker.batch(questions, (64, 64))
    rows, places, ids = batch.words
    assert torch.equal(batch.ids[rows, places + 1], ids)
    rows, places, at = batch.numbers
    said = batch.ids[rows, places + 1]
    nearest = (asker.numbers_px[None] - at[:, None]).abs().argmin(-1)
    assert torch.equal(asker.number_ids[nearest], said)
    assert len(said) == 2 * len(questions)
    _, _, cover = batch.looks
    assert cover.any(-1).all()
    assert not cover.all(-1).any()
