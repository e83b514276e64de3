from __future__ import annotations

import io
import random
from dataclasses import replace

import numpy as np
import torch
from PIL import Image as Picture

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception
from deskhand_trainer.base.questions import Kind, ask


def test_packed_questions_equal_one_prompt_each(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """The same ids as a rollout would show, and the same numbers, although the picture is encoded once."""
    perception = Perception(bundle)
    studied = [perception.study(page) for page in pages[:2]]
    prepared = perception.prepare_pages(studied, random.Random(0), questions=4)
    asked = prepared.asked
    _, tokens = perception._encode(prepared)
    hidden, _ = perception._answer(prepared, tokens)
    for row, each in enumerate(asked.asked):
        page = studied[row // 4].page
        text = bundle.tokenizer.decode(each.ids).split("\n<|im_end|>")[0] + "\n"
        message = PromptMessage(role="user", segments=(Text(text=text), ImageSegment(image=page.image)))
        prompt = tokenise_prompt(bundle, [message])
        assert prompt.ids[-len(each.ids) :] == each.ids
        alone = TokenSequence(ids=prompt.ids + each.answer, images=prompt.images)
        expected, _ = forward(bundle, collate(bundle, [alone]))
        count = len(each.ids) + len(each.answer)
        torch.testing.assert_close(hidden[row, :count], expected[0, -count:], rtol=1e-5, atol=1e-5)


def test_losses_reach_what_they_should(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    perception = Perception(bundle)
    studied = [perception.study(page) for page in pages[:4]]
    bundle.model.requires_grad_(True)
    perception.reading_loss(studied, np.random.default_rng(0)).backward()
    assert bundle.model.model.visual.patch_embed.proj.weight.grad.abs().sum() > 0
    assert bundle.model.lm_head.weight.grad is None
    loss, parts = perception.asking_loss(studied, random.Random(0), questions=3, looking=1.0)
    loss.backward()
    assert bundle.model.lm_head.weight.grad.abs().sum() > 0
    assert set(parts) == {"character", "letter", "spelling", "shown", "words", "numbers", "look"}


def test_figures_repeat_and_take_pages_of_any_size(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    perception = Perception(bundle)
    small = Picture.open(io.BytesIO(pages[0].image.data)).crop((0, 0, 64, 48))
    out = io.BytesIO()
    small.save(out, "PNG")
    other = replace(
        pages[0],
        image=Image(digest="short", format="png", width_px=64, height_px=48, data=out.getvalue()),
    )
    studied = [perception.study(page) for page in (*pages, other)]
    first = perception.figures(studied)
    assert first == perception.figures(studied)
    assert {"answers", "point_named", "point_word", "read_at", "character", "spelling", "look"} <= set(first)
    assert all(0 <= value <= 1 for value in first.values())


def test_an_answer_counts_only_when_all_of_it_is_right(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    """A head that says the truth answers everything; with one token wrong, that question is lost."""
    perception = Perception(bundle)
    studied = [perception.study(page) for page in pages[:3]]
    asked, _ = perception.ask(studied, random.Random(1), questions=4)
    truth = torch.nn.functional.one_hot(asked.ids.roll(-1, 1), len(bundle.tokenizer)).float()
    bundle.model.lm_head = torch.nn.Identity()
    assert perception._answered(truth, asked) == [1.0] * 12
    rows, places, ids = asked.words
    harmed = truth.clone()
    harmed[rows[0], places[0]] = 0
    harmed[rows[0], places[0], (ids[0] + 1) % harmed.shape[-1]] = 1
    assert perception._answered(harmed, asked).count(0.0) == 1


def test_a_copy_counts_when_click_and_text_are_right(bundle: ModelBundle, pages: list[SeenPage]) -> None:
    perception = Perception(bundle)
    first, second = pages[0].things
    page = replace(pages[0], things=(replace(first, role="field", box=(0.0, 0.0, 20.0, 12.0)), second))
    question = ask(page, Kind.COPY_INTO, random.Random(1))
    assert question is not None
    asked = perception.asker.batch([[perception.asker.encode(question, (64, 64))]], (64, 64))
    truth = torch.nn.functional.one_hot(asked.ids.roll(-1, 1), len(bundle.tokenizer)).float()
    bundle.model.lm_head = torch.nn.Identity()
    assert perception._answered(truth, asked) == [1.0]
    rows, places, _ = asked.words
    letter, number = places[asked.written][0], asked.numbers[1][0]
    for place, wrong in ((letter, asked.ids[0, letter]), (number, perception.asker.number_ids[-1])):
        harmed = truth.clone()
        harmed[rows[0], place] = 0
        harmed[rows[0], place, wrong] = 1
        assert perception._answered(harmed, asked) == [0.0]
