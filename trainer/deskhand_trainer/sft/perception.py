"""The perception stage: read first, then point.

Vision learns to name the character under each patch and the word under each token through linear heads that
are thrown away afterwards. Then pointing questions join in, many behind one encoded picture: one attention
head of the language model is told where to look while it answers (less and less), and coordinates are learned
as soft targets, so that a near miss is better than a far one.
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
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.sft.labels import (
    CHARACTER_CLASSES,
    LOOKS,
    WORD_LETTERS,
    DenseBatch,
    LabelledPage,
    label_page,
    strips,
    whole_pages,
)
from deskhand_trainer.sft.pages import PerceptionPage
from deskhand_trainer.sft.questions import AskedBatch, Asker, Target, targets_of

SOFTNESS = 0.7
"""Width of a coordinate target, in steps of the grid."""
LOOKING_HEAD = 0
_BLANK_PATCHES, _BLANK_TOKENS = 0.1, 0.05
"""Shares of empty places that are asked about too: most of a page is blank."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudiedPage:
    """A page ready for training."""

    page: PerceptionPage
    labels: LabelledPage
    targets: tuple[Target, ...]


class PerceptionHeads(nn.Module):
    """Thrown away after the stage."""

    def __init__(self, vision_width: int, text_width: int) -> None:
        super().__init__()
        self.character = nn.Linear(vision_width, LOOKS * CHARACTER_CLASSES)
        self.spelling = nn.Linear(text_width, WORD_LETTERS * CHARACTER_CLASSES)
        self.place = nn.Linear(text_width, 1)


class Perception:
    """Losses and figures of the perception stage, on the fast forward pass."""

    def __init__(self, bundle: ModelBundle, pages: Sequence[PerceptionPage], config: SftConfig) -> None:
        """Raises:
        ValueError: the model is not a tiny one, or pages differ in size.
        """
        if bundle.tiny is None or not fast.supports(bundle.model):
            raise ValueError("the perception stage is for tiny Qwen3-VL models: a released one already sees")
        sizes = {(p.image.width_px, p.image.height_px) for p in pages}
        if len(sizes) != 1:
            raise ValueError(f"perception pages must be of one size, found {sorted(sizes)}")
        self.bundle, self.config = bundle, config
        self.heads = PerceptionHeads(bundle.tiny.vision_width, bundle.text_width)
        self.asker = Asker(bundle, sizes.pop())
        self.studied = [self._studied(page) for page in pages]
        self._picture_px = (
            int(self.studied[0].labels.pixels.shape[1]),
            int(self.studied[0].labels.pixels.shape[0]),
        )
        run = image_run(bundle, pages[0].image)
        self._prefix = [*message_header(bundle, "user"), *run]
        patch = bundle.images.patch_px
        self._grid = (self._picture_px[1] // patch, self._picture_px[0] // patch)
        self._positions, self._after = rotary_positions(bundle, self._prefix, [self._grid])
        self._picture = slice(self._prefix.index(run[1]), len(self._prefix) - 1)
        self._looking_layer = max(0, bundle.tiny.text_depth - 2)

    def reading_loss(self, pages: Sequence[StudiedPage], rng: np.random.Generator) -> Tensor:
        """Vision alone, on strips."""
        batch = strips([p.labels for p in pages], self.bundle.images, rng)
        patches, tokens = self._encode(batch)
        character, spelling = self._dense_losses(batch, patches, tokens)
        return character + spelling

    def pointing_loss(
        self, pages: Sequence[StudiedPage], rng: random.Random, *, looking: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Everything at once, on whole pages.

        Args:
            looking: weight of telling the head where to look.

        Returns:
            The loss, and its parts for a log.
        """
        batch = whole_pages([p.labels for p in pages], self.bundle.images)
        patches, tokens = self._encode(batch)
        character, spelling = self._dense_losses(batch, patches, tokens)
        asked = self._ask(pages, rng)
        hidden, weights = self._answer(tokens, asked, watch=True)
        rows, places, ids = asked.words
        lm_head: Any = self.bundle.model.lm_head
        words = F.cross_entropy(lm_head(hidden[rows, places]), ids)
        rows, places, at = asked.numbers
        soft = self._soft_targets(at)
        numbers = (
            -(soft * lm_head(hidden[rows, places]).log_softmax(-1)[:, self.asker.number_ids]).sum(-1).mean()
        )
        place = F.mse_loss(self.heads.place(hidden[rows, places])[:, 0] * 10, at / 20)
        rows, places, cover = asked.looks
        mass = (weights[rows, places, self._picture] * cover).sum(-1)
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
        """Accuracy on pages, the same questions for the same seed.

        Returns:
            "pointing" and "pointing_<kind>" (greedy answer inside the target), "character" and "spelling"
            (of places that hold one), "look" (mean attention mass on the target).
        """
        rng = random.Random(seed)
        hits: dict[str, list[float]] = {}
        for start in range(0, len(pages), 16):
            chunk = [p for p in pages[start : start + 16] if p.targets]
            if not chunk:
                continue
            batch = whole_pages([p.labels for p in chunk], self.bundle.images)
            patches, tokens = self._encode(batch)
            for name, head, states, truth in (
                ("character", self.heads.character, patches, batch.characters),
                ("spelling", self.heads.spelling, tokens, batch.spelling),
            ):
                said = head(states).view(*truth.shape, CHARACTER_CLASSES).argmax(-1)
                right = (said == truth) if name == "character" else (said == truth).all(-1)
                filled = truth > 0 if name == "character" else truth[..., 0] > 0
                hits.setdefault(name, []).extend(right[filled].float().tolist())
            asked = self._ask(chunk, rng, count=questions)
            hidden, weights = self._answer(tokens, asked, watch=True)
            rows, places, cover = asked.looks
            mass = (weights[rows, places, self._picture] * cover).sum(-1)
            hits.setdefault("look", []).extend(mass.tolist())
            rows, places, _ = asked.numbers
            lm_head: Any = self.bundle.model.lm_head
            best = lm_head(hidden[rows, places])[:, self.asker.number_ids].argmax(-1)
            points = self.asker.numbers_px[best].view(-1, 2).tolist()
            for (x, y), question in zip(points, asked.questions, strict=True):
                left, top, right_edge, bottom = question.box
                inside = float(left <= x < right_edge and top <= y < bottom)
                hits.setdefault("pointing", []).append(inside)
                hits.setdefault(f"pointing_{question.kind}", []).append(inside)
        return {name: sum(values) / len(values) for name, values in hits.items() if values}

    def _studied(self, page: PerceptionPage) -> StudiedPage:
        pixels = self.bundle.cache.pixels(page.image)
        return StudiedPage(page=page, labels=label_page(page, pixels), targets=tuple(targets_of(page)))

    def _encode(self, batch: DenseBatch) -> tuple[Tensor, Tensor]:
        model: Any = self.bundle.model
        patches = patchify(batch.pixels, self.bundle.images)
        return fast.encode_images(model.model.visual, patches, *self._grid, window=batch.window)

    def _dense_losses(self, batch: DenseBatch, patches: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        asked = (batch.characters > 0) | (torch.rand(batch.characters.shape) < _BLANK_PATCHES)
        logits = self.heads.character(patches).view(*batch.characters.shape, CHARACTER_CLASSES)
        character = F.cross_entropy(logits[asked], batch.characters[asked])
        asked = (batch.spelling[..., 0] > 0) | (torch.rand(batch.spelling.shape[:2]) < _BLANK_TOKENS)
        logits = self.heads.spelling(tokens).view(*batch.spelling.shape, CHARACTER_CLASSES)
        spelling = F.cross_entropy(logits[asked].flatten(0, 1), batch.spelling[asked].flatten())
        return character, spelling

    def _ask(
        self, pages: Sequence[StudiedPage], rng: random.Random, *, count: int | None = None
    ) -> AskedBatch:
        count = count or self.config.questions_per_page
        questions = [
            self.asker.ask(target, rng) for page in pages for target in rng.choices(page.targets, k=count)
        ]
        return self.asker.batch(questions, self._picture_px)

    def _answer(self, tokens: Tensor, asked: AskedBatch, *, watch: bool) -> tuple[Tensor, Tensor]:
        """Hidden states of every question's tokens and the watched head's attention.

        Each question sees the picture and itself, its positions counted from the picture: the same numbers
        as one prompt per question, with the picture encoded once.
        """
        model: Any = self.bundle.model
        text = model.model.language_model
        embed = model.get_input_embeddings()
        pages, each = tokens.shape[0], asked.ids.shape[0] // tokens.shape[0]
        around = embed(torch.tensor(self._prefix)).expand(pages, -1, -1)
        prefix = torch.cat([around[:, : self._picture.start], tokens, around[:, self._picture.stop :]], dim=1)
        placed = self._positions[:, None].expand(-1, pages, -1)
        _, cache, _ = fast.decode_text(text, prefix, placed, None)
        shared = [(k.repeat_interleave(each, 0), v.repeat_interleave(each, 0)) for k, v in cache]
        length, before = asked.ids.shape[1], prefix.shape[1]
        places = (self._after + torch.arange(length)).expand(3, asked.ids.shape[0], -1)
        mask = torch.cat(
            [
                torch.ones(length, before, dtype=torch.bool),
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
            weights_of=(self._looking_layer, LOOKING_HEAD) if watch else None,
        )
        return hidden, weights if weights is not None else torch.empty(0)

    def _soft_targets(self, at: Tensor) -> Tensor:
        """[n, numbers]: a bell around the true coordinate."""
        step = self.bundle.coordinates.step
        off = (self.asker.numbers_px[None] - at[:, None]) / step
        return (-(off**2) / (2 * SOFTNESS**2)).softmax(-1)
