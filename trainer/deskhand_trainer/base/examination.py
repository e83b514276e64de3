"""What a base model can see, told by plain transformers: its own `generate`, the processor saved beside it.

None of our forward passes, engines or prompts take part: what is measured here is what anybody gets who loads
the folder with `from_pretrained`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image as PilImage

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import parse_reply
from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.models.images import sized_pixels
from deskhand_sandbox.types import Click
from deskhand_trainer.base.asking import Asker
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import Kind, Question, ask, is_right
from deskhand_trainer.wilson import Rate, wilson

LONGEST_REPLY = 48
"""Tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How well one kind of question is answered."""

    rate: Rate
    """Of right answers."""
    chance: float
    """Of who clicks a thing of the page drawn at random, or always gives the commonest answer."""


def examine(
    folder: Path,
    pages: Sequence[SeenPage],
    *,
    kinds: Sequence[Kind] = tuple(Kind),
    seed: int = 0,
    batch: int = 16,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[Kind, Mark]:
    """Ask every page one question of every kind it can be asked.

    Args:
        folder: of a model that `save_bundle` wrote.
        pages: never trained on.
        seed: of the questions.
        batch: questions answered side by side, of pages of one size.
        progress: told questions answered and in all.

    Returns:
        a mark for every kind that was asked.

    Raises:
        ModelFilesError: the folder is no model, or damaged.
        ValueError: a released model: its answers have another form.
    """
    bundle = load_bundle(folder)  # first: it sees to what transformers' processors need
    from transformers import AutoProcessor

    asker = Asker(bundle)
    processor: Any = AutoProcessor.from_pretrained(folder)
    processor.tokenizer.padding_side = "left"
    draw = random.Random(seed)
    asked = [
        (page, question)
        for kind in kinds
        for page in sorted(pages, key=lambda page: page.image.width_px)
        if (question := ask(page, kind, draw)) is not None
    ]
    right: dict[Kind, list[bool]] = {}
    for start in range(0, len(asked), batch):
        chunk = asked[start : start + batch]
        for (_, question), reply in zip(chunk, _replies(bundle, processor, asker, chunk), strict=True):
            right.setdefault(question.kind, []).append(_right(question, reply))
        progress(start + len(chunk), len(asked))
    return {
        kind: Mark(
            rate=wilson(sum(found), len(found)),
            chance=_chance([each for each in asked if each[1].kind is kind]),
        )
        for kind, found in right.items()
    }


def _replies(
    bundle: ModelBundle, processor: Any, asker: Asker, chunk: Sequence[tuple[SeenPage, Question]]
) -> list[str]:
    texts: list[str] = []
    pictures: list[PilImage.Image] = []
    for page, question in chunk:
        size = (page.image.width_px, page.image.height_px)
        content = [{"type": "image"}, {"type": "text", "text": asker.text(question, size) + "\n"}]
        messages = [{"role": "user", "content": content}]
        texts.append(processor.apply_chat_template(messages, add_generation_prompt=True))
        pictures.append(PilImage.fromarray(sized_pixels(page.image, bundle.images).numpy()))
    given = processor(text=texts, images=pictures, return_tensors="pt", padding=True)
    with torch.no_grad():
        model: Any = bundle.model
        made = model.generate(
            **given, max_new_tokens=LONGEST_REPLY, do_sample=False, eos_token_id=bundle.end_id
        )
    new = made[:, given["input_ids"].shape[1] :]
    return [str(text) for text in processor.tokenizer.batch_decode(new, skip_special_tokens=True)]


def _right(question: Question, reply: str) -> bool:
    try:
        return is_right(question, parse_reply(reply).actions)
    except ActionSyntaxError:
        return False


def _chance(asked: Sequence[tuple[SeenPage, Question]]) -> float:
    if isinstance(asked[0][1].reply, Click):
        return sum(1 / max(1, len(page.things)) for page, _ in asked) / len(asked)
    answers = Counter(question.reply for _, question in asked)
    return answers.most_common(1)[0][1] / len(asked)
