from __future__ import annotations

import random

import torch

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import TokenSequence, collate, forward
from deskhand_agent.models.images import patchify
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.pages import PerceptionPage
from deskhand_trainer.sft.perception import Perception

CONFIG = SftConfig(questions_per_page=3, pages_per_step=4, strips_per_step=4, threads=1)


def test_packed_questions_equal_one_prompt_each(bundle: ModelBundle, pages: list[PerceptionPage]) -> None:
    """The same ids as a rollout would show, and the same numbers, although the picture is encoded once."""
    perception = Perception(bundle, pages, CONFIG)
    studied = perception.studied[:2]
    asked = perception._ask(studied, random.Random(0))
    pixels = torch.stack([s.labels.pixels for s in studied])
    grid = perception._grid
    from deskhand_agent.models import fast

    _, tokens = fast.encode_images(bundle.model.model.visual, patchify(pixels, bundle.images), *grid)
    hidden, _ = perception._answer(tokens, asked, watch=False)
    for row, question in enumerate(asked.questions):
        page = studied[row // 3].page
        text = bundle.tokenizer.decode(question.ids).split("\n<|im_end|>")[0] + "\n"
        message = PromptMessage(role="user", segments=(Text(text=text), ImageSegment(image=page.image)))
        prompt = tokenise_prompt(bundle, [message])
        assert prompt.ids[-len(question.ids) :] == question.ids
        alone = TokenSequence(ids=prompt.ids + question.answer, images=prompt.images)
        expected, _ = forward(bundle, collate(bundle, [alone]))
        count = len(question.ids) + len(question.answer)
        torch.testing.assert_close(hidden[row, :count], expected[0, -count:], rtol=1e-5, atol=1e-5)


def test_losses_reach_what_they_should(bundle: ModelBundle, pages: list[PerceptionPage]) -> None:
    import numpy as np

    perception = Perception(bundle, pages, CONFIG)
    bundle.model.requires_grad_(True)
    perception.reading_loss(perception.studied[:4], np.random.default_rng(0)).backward()
    assert bundle.model.model.visual.patch_embed.proj.weight.grad.abs().sum() > 0
    assert bundle.model.lm_head.weight.grad is None
    loss, parts = perception.pointing_loss(perception.studied[:4], random.Random(0), looking=1.0)
    loss.backward()
    assert bundle.model.lm_head.weight.grad.abs().sum() > 0
    assert set(parts) == {"character", "spelling", "words", "numbers", "look"}


def test_figures_repeat(bundle: ModelBundle, pages: list[PerceptionPage]) -> None:
    perception = Perception(bundle, pages, CONFIG)
    first = perception.figures(perception.studied)
    assert first == perception.figures(perception.studied)
    assert {"pointing", "pointing_button", "character", "spelling", "look"} <= set(first)
    assert all(0 <= value <= 1 for value in first.values())
