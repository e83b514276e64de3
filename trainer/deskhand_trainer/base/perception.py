"""Learning to see: read first, then point and tell.

Vision learns to name the character under each patch and the word under each token through linear heads that
are thrown away afterwards. Then questions join in, many behind one encoded picture: one attention head of the
language model is told where to look while it answers (less and less), and coordinates are learned as soft
targets, so that a near miss is better than a far one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import rotary_positions
from deskhand_agent.models.images import patchify
from deskhand_agent.models.prompting import image_run, message_header
from deskhand_trainer.base.asking import AskedBatch, Asker
from deskhand_trainer.base.labels import (
    CHARACTER_CLASSES,
    LOOKS,
    WORD_LETTERS,
    DenseBatch,
    LabelledPage,
    label_page,
    strips,
    whole_pages,
)
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.questions import ask_many

SOFTNESS = 0.7
"""Width of a coordinate target, in steps of the grid."""
LOOKING_HEAD = 0
_BLANK_PATCHES, _BLANK_TOKENS = 0.1, 0.05
"""Shares of empty places that are asked about too: most of a page is blank."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudiedPage:
    """A page ready for training."""

    page: SeenPage
    labels: LabelledPage

    @property
    def picture_px(self) -> tuple[int, int]:
        """Width and height of the picture as the model sees it."""
        return int(self.labels.pixels.shape[1]), int(self.labels.pixels.shape[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """What stands before the questions about a picture of one size."""

    ids: tuple[int, ...]
    grid: tuple[int, int]
    """Rows and columns of patches."""
    positions: Tensor
    """[3, t] rotary positions."""
    after: int
    """The position of the token that comes next."""
    picture: slice
    """The picture's tokens among the ids."""


class PerceptionHeads(nn.Module):
    """Thrown away after the stage."""

    def __init__(self, vision_width: int, text_width: int) -> None:
        super().__init__()
        self.character = nn.Linear(vision_width, LOOKS * CHARACTER_CLASSES)
        self.spelling = nn.Linear(text_width, WORD_LETTERS * CHARACTER_CLASSES)
        self.place = nn.Linear(text_width, 1)


class Perception:
    """Losses and figures of learning to see, on the fast forward pass."""

    def __init__(self, bundle: ModelBundle) -> None:
        """Raises:
        ValueError: the model is not a tiny one.
        """
        if bundle.tiny is None or not fast.supports(bundle.model):
            raise ValueError("the perception stage is for tiny Qwen3-VL models: a released one already sees")
        self.bundle = bundle
        self.heads = PerceptionHeads(bundle.tiny.vision_width, bundle.text_width)
        self.asker = Asker(bundle)
        self._before: dict[tuple[int, int], Before] = {}
        self._looking_layer = max(0, bundle.tiny.text_depth - 2)

    def study(self, page: SeenPage) -> StudiedPage:
        """A page with its labels.

        Raises:
            InferenceError: its picture is unreadable.
        """
        return StudiedPage(page=page, labels=label_page(page, self.bundle.cache.pixels(page.image)))

    def reading_loss(self, pages: Sequence[StudiedPage], rng: np.random.Generator) -> Tensor:
        """Vision alone, on strips of pages of one size."""
        batch = strips([p.labels for p in pages], self.bundle.images, rng)
        patches, tokens = self._encode(batch, pages[0].picture_px)
        character, spelling = self._dense_losses(batch, patches, tokens)
        return character + spelling

    def asking_loss(
        self, pages: Sequence[StudiedPage], rng: random.Random, *, questions: int, looking: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Everything at once, on whole pages of one size.

        Args:
            questions: about each page.
            looking: weight of telling the head where to look.

        Returns:
            The loss, and its parts for a log.
        """
        batch = whole_pages([p.labels for p in pages], self.bundle.images)
        patches, tokens = self._encode(batch, pages[0].picture_px)
        character, spelling = self._dense_losses(batch, patches, tokens)
        asked = self.ask(pages, rng, questions=questions)
        before = self.before(pages[0])
        hidden, weights = self._answer(tokens, asked, before)
        rows, places, ids = asked.words
        lm_head: Any = self.bundle.model.lm_head
        words = F.cross_entropy(lm_head(hidden[rows, places]), ids)
        numbers, place = self._coordinate_losses(hidden, asked)
        rows, places, cover = asked.looks
        mass = (weights[rows, places, before.picture] * cover).sum(-1)
        look = -mass.clamp_min(1e-6).log().mean()
        loss = 0.5 * (character + spelling) + words + numbers + 0.1 * place + looking * look
        parts = {
            "character": character,
            "spelling": spelling,
            "words": words,
            "numbers": numbers,
            "look": look,
        }
        return loss, {name: float(part.detach()) for name, part in parts.items()}

    @torch.no_grad()
    def figures(self, pages: Sequence[StudiedPage], *, questions: int = 6, seed: int = 0) -> dict[str, float]:
        """Accuracy on pages of any sizes, the same questions for the same seed.

        Returns:
            per kind of question ("point_named", …) and over all ("answers") the share answered rightly, each
            token given the right ones before it; "character" and "spelling" of places that hold one; "look",
            the mean attention on the target.
        """
        rng = random.Random(seed)
        hits: dict[str, list[float]] = {}
        for chunk in _of_one_size(pages, 16):
            batch = whole_pages([p.labels for p in chunk], self.bundle.images)
            patches, tokens = self._encode(batch, chunk[0].picture_px)
            for name, head, states, truth in (
                ("character", self.heads.character, patches, batch.characters),
                ("spelling", self.heads.spelling, tokens, batch.spelling),
            ):
                said = head(states).view(*truth.shape, CHARACTER_CLASSES).argmax(-1)
                right = (said == truth) if name == "character" else (said == truth).all(-1)
                filled = truth > 0 if name == "character" else truth[..., 0] > 0
                hits.setdefault(name, []).extend(right[filled].float().tolist())
            asked = self.ask(chunk, rng, questions=questions)
            before = self.before(chunk[0])
            hidden, weights = self._answer(tokens, asked, before)
            rows, places, cover = asked.looks
            mass = (weights[rows, places, before.picture] * cover).sum(-1)
            hits.setdefault("look", []).extend(mass.tolist())
            for encoded, right in zip(asked.asked, self._answered(hidden, asked), strict=True):
                for name in ("answers", str(encoded.question.kind)):
                    hits.setdefault(name, []).append(right)
        return {name: sum(values) / len(values) for name, values in hits.items() if values}

    def ask(self, pages: Sequence[StudiedPage], rng: random.Random, *, questions: int) -> AskedBatch:
        """Questions about pages of one size, each with something to ask."""
        asked = [
            [
                self.asker.encode(each, (page.page.image.width_px, page.page.image.height_px))
                for each in ask_many(page.page, questions, rng)
            ]
            for page in pages
        ]
        return self.asker.batch(asked, pages[0].picture_px)

    def before(self, page: StudiedPage) -> Before:
        """What stands before the questions about pages of this one's size."""
        if page.picture_px not in self._before:
            run = image_run(self.bundle, page.page.image)
            ids = [*message_header(self.bundle, "user"), *run]
            grid = self._grid(page.picture_px)
            positions, after = rotary_positions(self.bundle, ids, [grid])
            picture = slice(ids.index(run[1]), len(ids) - 1)
            self._before[page.picture_px] = Before(
                ids=tuple(ids), grid=grid, positions=positions, after=after, picture=picture
            )
        return self._before[page.picture_px]

    def _grid(self, picture_px: tuple[int, int]) -> tuple[int, int]:
        patch = self.bundle.images.patch_px
        return picture_px[1] // patch, picture_px[0] // patch

    def _encode(self, batch: DenseBatch, picture_px: tuple[int, int]) -> tuple[Tensor, Tensor]:
        model: Any = self.bundle.model
        patches = patchify(batch.pixels, self.bundle.images)
        return fast.encode_images(model.model.visual, patches, *self._grid(picture_px), window=batch.window)

    def _dense_losses(self, batch: DenseBatch, patches: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        asked = (batch.characters > 0) | (torch.rand(batch.characters.shape) < _BLANK_PATCHES)
        logits = self.heads.character(patches).view(*batch.characters.shape, CHARACTER_CLASSES)
        character = F.cross_entropy(logits[asked], batch.characters[asked])
        asked = (batch.spelling[..., 0] > 0) | (torch.rand(batch.spelling.shape[:2]) < _BLANK_TOKENS)
        logits = self.heads.spelling(tokens).view(*batch.spelling.shape, CHARACTER_CLASSES)
        spelling = F.cross_entropy(logits[asked].flatten(0, 1), batch.spelling[asked].flatten())
        return character, spelling

    def _coordinate_losses(self, hidden: Tensor, asked: AskedBatch) -> tuple[Tensor, Tensor]:
        """Of the numbers as soft targets, and of a head that names the place outright."""
        rows, places, at = asked.numbers
        if not len(rows):
            return hidden.new_zeros(()), hidden.new_zeros(())
        lm_head: Any = self.bundle.model.lm_head
        off = (self.asker.numbers_px[None] - at[:, None]) / self.bundle.coordinates.step
        soft = (-(off**2) / (2 * SOFTNESS**2)).softmax(-1)
        said = lm_head(hidden[rows, places]).log_softmax(-1)[:, self.asker.number_ids]
        place = F.mse_loss(self.heads.place(hidden[rows, places])[:, 0] * 10, at / 20)
        return -(soft * said).sum(-1).mean(), place

    def _answered(self, hidden: Tensor, asked: AskedBatch) -> list[float]:
        """1 for every question answered rightly: its words exactly, its click inside the target."""
        lm_head: Any = self.bundle.model.lm_head
        right = torch.ones(len(asked.asked), dtype=torch.bool)
        rows, places, ids = asked.words
        wrong = lm_head(hidden[rows, places]).argmax(-1) != ids
        right[rows[wrong]] = False
        rows, places, _ = asked.numbers
        said = lm_head(hidden[rows, places])[:, self.asker.number_ids].argmax(-1)
        points = self.asker.numbers_px[said].view(-1, 2).tolist()
        for row, (x, y) in zip(rows[::2].tolist(), points, strict=True):
            left, top, right_edge, bottom = asked.asked[row].question.target
            right[row] &= left <= x <= right_edge and top <= y <= bottom
        return right.float().tolist()

    def _answer(self, tokens: Tensor, asked: AskedBatch, before: Before) -> tuple[Tensor, Tensor]:
        """Hidden states of every question's tokens and the watched head's attention.

        Each question sees the picture and itself, its positions counted from the picture: the same numbers
        as one prompt per question, with the picture encoded once.
        """
        model: Any = self.bundle.model
        text = model.model.language_model
        embed = model.get_input_embeddings()
        pages, length = tokens.shape[0], asked.ids.shape[1]
        around = embed(torch.tensor(before.ids)).expand(pages, -1, -1)
        picture = before.picture
        prefix = torch.cat([around[:, : picture.start], tokens, around[:, picture.stop :]], dim=1)
        placed = before.positions[:, None].expand(-1, pages, -1)
        _, cache, _ = fast.decode_text(text, prefix, placed, None)
        shared = [(k.repeat_interleave(asked.each, 0), v.repeat_interleave(asked.each, 0)) for k, v in cache]
        places = (before.after + torch.arange(length)).expand(3, asked.ids.shape[0], -1)
        mask = torch.cat(
            [
                torch.ones(length, prefix.shape[1], dtype=torch.bool),
                torch.ones(length, length, dtype=torch.bool).tril(),
            ],
            dim=1,
        )
        hidden, _, weights = fast.decode_text(
            text,
            embed(asked.ids),
            places,
            mask.expand(asked.ids.shape[0], 1, -1, -1),
            shared,
            weights_of=(self._looking_layer, LOOKING_HEAD),
        )
        assert weights is not None
        return hidden, weights


def _of_one_size(pages: Sequence[StudiedPage], most: int) -> list[list[StudiedPage]]:
    """Pages in groups of one size."""
    by_size: dict[tuple[int, int], list[StudiedPage]] = {}
    for page in pages:
        by_size.setdefault(page.picture_px, []).append(page)
    return [each[at : at + most] for each in by_size.values() for at in range(0, len(each), most)]
