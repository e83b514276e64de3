"""What a base model can see, told by plain transformers: its own `generate`.

None of our forward passes or engines take part: the model is what anybody gets who loads the folder with
`from_pretrained`. It is asked as it was taught (`showing`), and shown pictures as it was: padded to whole
patches, where the processor saved beside it stretches those that are none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from PIL import Image as PilImage

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import parse_reply
from deskhand_agent.models.bundle import UNREAD, ModelBundle, load_bundle
from deskhand_agent.models.images import sized_pixels
from deskhand_agent.prompt import ImageSegment
from deskhand_sandbox.types import Action, Click, Image
from deskhand_trainer.base.asking import Asker
from deskhand_trainer.base.change_questions import CHANGE_KINDS, ask_change
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.packing import showing
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import PAGE_KINDS, Kind, Question, ask, is_right
from deskhand_trainer.wilson import Rate, wilson

LONGEST_REPLY = 48
"""Tokens."""
LATER_KINDS = (Kind.POINT_PLACED, Kind.READ_BOX, Kind.COPY_INTO)
"""Each has draws and batches of its own: what else is asked, and how it is answered, is what it was without
them."""

Asked: TypeAlias = tuple[SeenPage | SeenChange, Question]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How well one kind of question is answered."""

    rate: Rate
    """Of right answers."""
    chance: float
    """Of who clicks a thing of the page drawn at random, or always gives the commonest answer, whichever is
    right more often; where both are wanted, of who does both."""


def examine(
    folder: Path,
    pages: Sequence[SeenPage],
    changes: Sequence[SeenChange] = (),
    *,
    kinds: Sequence[Kind] = tuple(Kind),
    unseen: bool = False,
    seed: int = 0,
    batch: int = 16,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[Kind, Mark]:
    """Ask every page, and every change, one question of every kind it can be asked.

    Args:
        folder: of a model that `save_bundle` wrote.
        pages: never trained on.
        changes: never trained on; the model is shown both pictures and not told of the action.
        unseen: see `ask`.
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
    earlier = [kind for kind in kinds if kind in PAGE_KINDS and kind not in LATER_KINDS]
    asked = _asked(pages, earlier, draw, unseen=unseen)
    asked += [
        (change, question)
        for kind in kinds
        if kind in CHANGE_KINDS
        for change in sorted(changes, key=lambda change: change.after.image.width_px)
        if (question := ask_change(change, kind, draw)) is not None
    ]
    later = [kind for kind in kinds if kind in LATER_KINDS]
    groups = [asked, *(_asked(pages, [kind], random.Random(f"{seed}/{kind}")) for kind in later)]
    asked = [each for group in groups for each in group]
    chunks = [group[start : start + batch] for group in groups for start in range(0, len(group), batch)]
    right: dict[Kind, list[bool]] = {}
    done = 0
    for chunk in chunks:
        for (_, question), reply in zip(chunk, _replies(bundle, processor, asker, chunk), strict=True):
            right.setdefault(question.kind, []).append(_right(question, reply))
        done += len(chunk)
        progress(done, len(asked))
    return {
        kind: Mark(
            rate=wilson(sum(found), len(found)),
            chance=_chance([each for each in asked if each[1].kind is kind]),
        )
        for kind, found in right.items()
    }


def refuse_unfit(folder: Path) -> None:
    """Refuse what `examine` would, before there are pages.

    Raises:
        ModelFilesError, ValueError: as of `examine`.
    """
    Asker(load_bundle(folder, device=UNREAD))


def _asked(
    pages: Sequence[SeenPage], kinds: Sequence[Kind], draw: random.Random, *, unseen: bool = False
) -> list[Asked]:
    return [
        (page, question)
        for kind in kinds
        for page in sorted(pages, key=lambda page: page.image.width_px)
        if (question := ask(page, kind, draw, unseen=unseen)) is not None
    ]


def _replies(bundle: ModelBundle, processor: Any, asker: Asker, chunk: Sequence[Asked]) -> list[str]:
    texts: list[str] = []
    pictures: list[PilImage.Image] = []
    for shown, question in chunk:
        images = _images(shown)
        size = (images[-1].width_px, images[-1].height_px)
        messages = _messages(images, asker.text(question, size) + "\n")
        texts.append(processor.apply_chat_template(messages, add_generation_prompt=True))
        pictures += [PilImage.fromarray(sized_pixels(each, bundle.images).numpy()) for each in images]
    given = processor(text=texts, images=pictures, return_tensors="pt", padding=True)
    with torch.no_grad():
        model: Any = bundle.model
        made = model.generate(
            **given, max_new_tokens=LONGEST_REPLY, do_sample=False, eos_token_id=bundle.end_id
        )
    new = made[:, given["input_ids"].shape[1] :]
    return [str(text) for text in processor.tokenizer.batch_decode(new, skip_special_tokens=True)]


def _images(shown: SeenPage | SeenChange) -> list[Image]:
    pages = [shown] if isinstance(shown, SeenPage) else [shown.before, shown.after]
    return [page.image for page in pages]


def _messages(images: Sequence[Image], question: str) -> list[dict[str, Any]]:
    """As transformers' chat templates take them, pictures before texts."""
    messages: list[dict[str, Any]] = []
    for message in showing(images, None):
        content = [{"type": "image"} for each in message.segments if isinstance(each, ImageSegment)]
        messages.append({"role": message.role, "content": [*content, {"type": "text", "text": message.text}]})
    messages[-1]["content"][-1]["text"] = question
    return messages


def _right(question: Question, reply: str) -> bool:
    try:
        return is_right(question, parse_reply(reply).actions)
    except ActionSyntaxError:
        return False


def _chance(asked: Sequence[Asked]) -> float:
    rights: dict[Action | None, float] = {}
    for shown, question in asked:
        told, right = question.reply, 1.0
        if isinstance(told, Click):
            page = shown if isinstance(shown, SeenPage) else shown.before
            told, right = question.then, 1 / max(1, len(page.things))
        rights[told] = rights.get(told, 0.0) + right
    return max(rights.values()) / len(asked)
