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
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.images import patchify
from deskhand_trainer.base.asking import AskedBatch, Asker, Encoded
from deskhand_trainer.base.augmentation import shown_elsewhere
from deskhand_trainer.base.change_questions import CHANGE_KINDS, ask_about, ask_change
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.heads import PerceptionHeads
from deskhand_trainer.base.labels import LabelledPage, label_page, strips, whole_pages
from deskhand_trainer.base.packing import Prefix, answer, pack, prefix_of
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.prepared import PreparedPages, PreparedStrips, draw_places, moved
from deskhand_trainer.base.questions import ask_many
from deskhand_trainer.errors import RunRefused

SOFTNESS = 0.7
"""Width of a coordinate target, in steps of the grid."""
LOOKING_HEAD = 0
TOLD = 0.3
"""Share of changes whose action is told, as an agent is told its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudiedPage:
    """A page ready for training."""

    page: SeenPage
    labels: LabelledPage

    @property
    def now(self) -> SeenPage:
        """The page that is there."""
        return self.page

    @property
    def pictures(self) -> tuple[LabelledPage, ...]:
        """What is shown, in order."""
        return (self.labels,)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudiedChange:
    """A page before and after an action, ready for training."""

    change: SeenChange
    before: LabelledPage
    after: LabelledPage

    @property
    def now(self) -> SeenPage:
        """The page that is there."""
        return self.change.after

    @property
    def pictures(self) -> tuple[LabelledPage, ...]:
        """What is shown, in order."""
        return self.before, self.after


Studied: TypeAlias = StudiedPage | StudiedChange


def refuse_released(bundle: ModelBundle) -> None:
    """Raises:
    RunRefused: the model is not a tiny one, and nothing here can teach it to see.
    """
    if bundle.tiny is None or not fast.supports(bundle.model):
        raise RunRefused(
            "pretraining and perception pages are for tiny Qwen3-VL models: a released one already sees; "
            "leave pretraining out, and set perception_tasks=[] for sft"
        )


class Perception:
    """Losses and figures of learning to see, on the fast forward pass."""

    def __init__(self, bundle: ModelBundle) -> None:
        """Raises:
        RunRefused: the model is not a tiny one.
        """
        refuse_released(bundle)
        assert bundle.tiny is not None
        self.bundle = bundle
        self.heads = PerceptionHeads(bundle.tiny.vision_width, bundle.text_width)
        self.asker = Asker(bundle)
        self._prefixes: dict[tuple[tuple[int, int], int], Prefix] = {}
        self._looking = (max(0, bundle.tiny.text_depth - 2), LOOKING_HEAD)

    def study(self, page: SeenPage, elsewhere: random.Random | None = None) -> StudiedPage:
        """A page with its labels.

        Args:
            elsewhere: it is shown elsewhere in its picture (see `shown_elsewhere`), as this draws; None: as
                it is.

        Raises:
            InferenceError: its picture is unreadable.
        """
        pixels = self.bundle.cache.pixels(page.image)
        if elsewhere is not None:
            page, pixels = shown_elsewhere(page, pixels, elsewhere)
        return StudiedPage(page=page, labels=label_page(page, pixels))

    def study_change(self, change: SeenChange) -> StudiedChange:
        """As `study`, of the page before and after."""
        return StudiedChange(
            change=change, before=self._labelled(change.before), after=self._labelled(change.after)
        )

    def _labelled(self, page: SeenPage) -> LabelledPage:
        return label_page(page, self.bundle.cache.pixels(page.image))

    def prepare_strips(self, pages: Sequence[StudiedPage], rng: np.random.Generator) -> PreparedStrips:
        """Strips of pages of one size; needs no model."""
        batch = strips([p.labels for p in pages], self.bundle.images, rng)
        drawn = draw_places(batch, int(rng.integers(1 << 62)))
        return PreparedStrips(size_px=_size(pages[0]), dense=batch, drawn=drawn)

    def prepare_pages(
        self, studied: Sequence[Studied], rng: random.Random, *, questions: int, examined: bool = False
    ) -> PreparedPages:
        """Whole pages, or changes, of one size, and questions about them; needs no model. See `ask`."""
        batch = whole_pages([picture for each in studied for picture in each.pictures], self.bundle.images)
        drawn = draw_places(batch, rng.getrandbits(62)) if not examined else {}
        asked, prefixes = self.ask(studied, rng, questions=questions, examined=examined)
        packed = pack(prefixes, asked)
        return PreparedPages(size_px=_size(studied[0]), dense=batch, drawn=drawn, asked=asked, packed=packed)

    def reading_loss(self, pages: Sequence[StudiedPage], rng: np.random.Generator) -> Tensor:
        """Vision alone, on strips of pages of one size."""
        return self.read(self.prepare_strips(pages, rng))

    def read(self, prepared: PreparedStrips) -> Tensor:
        """As `reading_loss`, of what was prepared."""
        prepared = moved(prepared, self.bundle.device)
        return torch.stack([*self._dense_losses(prepared, *self._encode(prepared)).values()]).sum()

    def asking_loss(
        self,
        studied: Sequence[Studied],
        rng: random.Random,
        *,
        questions: int,
        looking: float,
        aided: bool = True,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Everything at once, on whole pages, or on changes, of one size.

        Args:
            questions: about each page.
            looking: weight of telling the head where to look.
            aided: dense labels, places and looking count too. A model that sees already goes without: its
                heads were thrown away, and new ones would drag it about.

        Returns:
            The loss, and its parts for a log.
        """
        return self.learn(self.prepare_pages(studied, rng, questions=questions), looking=looking, aided=aided)

    def learn(
        self, prepared: PreparedPages, *, looking: float, aided: bool = True
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """As `asking_loss`, of what was prepared."""
        prepared = moved(prepared, self.bundle.device)
        asked = prepared.asked
        patches, tokens = self._encode(prepared)
        dense = self._dense_losses(prepared, patches, tokens)
        hidden, mass = self._answer(prepared, tokens)
        words = self._word_losses(hidden, asked)
        numbers, place = self._coordinate_losses(hidden, asked)
        look = -mass.clamp_min(1e-6).log().mean() if len(mass) else mass.sum()
        loss = words + numbers
        if aided:
            loss = loss + 0.5 * torch.stack([*dense.values()]).sum() + 0.1 * place + looking * look
        parts = {**dense, "words": words, "numbers": numbers, "look": look}
        return loss, {name: part.detach() for name, part in parts.items()}

    @torch.no_grad()
    def figures(self, studied: Sequence[Studied], *, questions: int = 6, seed: int = 0) -> dict[str, float]:
        """Accuracy on pages and changes of any sizes, the same questions for the same seed.

        Args:
            questions: about each page; of changes one of each kind.

        Returns:
            per kind of question ("point_named", …) and over all ("answers") the share answered rightly, each
            token given the right ones before it; "character", "letter" (which of its word it is), "shown" (a
            word's first, second, … letter, by token) and "spelling" of places that hold one; "look", the mean
            attention on the target.
        """
        rng = random.Random(seed)
        hits: dict[str, list[float]] = {}
        for chunk in _alike(studied, 16):
            prepared = self.prepare_pages(chunk, rng, questions=questions, examined=True)
            prepared = moved(prepared, self.bundle.device)
            asked = prepared.asked
            patches, tokens = self._encode(prepared)
            for name, (logits, truth) in self.heads.read(prepared.dense, patches, tokens).items():
                right, filled = logits.argmax(-1) == truth, truth > 0
                if name == "spelling":
                    right, filled = right.all(-1), filled[..., 0]
                hits.setdefault(name, []).extend(right[filled].float().tolist())
            hidden, mass = self._answer(prepared, tokens)
            hits.setdefault("look", []).extend(mass.tolist())
            for encoded, right in zip(asked.asked, self._answered(hidden, asked), strict=True):
                for name in ("answers", str(encoded.question.kind)):
                    hits.setdefault(name, []).append(right)
        return {name: sum(values) / len(values) for name, values in hits.items() if values}

    def ask(
        self, studied: Sequence[Studied], rng: random.Random, *, questions: int, examined: bool = False
    ) -> tuple[AskedBatch, list[Prefix]]:
        """Questions about pages or changes of one size that can be asked some, and what they stand behind.

        Args:
            examined: of changes, one question of each kind, the action never told.
        """
        asked: list[list[Encoded]] = []
        prefixes: list[Prefix] = []
        for each in studied:
            image, reply = each.now.image, None
            size = (image.width_px, image.height_px)
            if isinstance(each, StudiedPage):
                found = ask_many(each.page, questions, rng)
            elif examined:
                tried = (ask_change(each.change, kind, rng) for kind in CHANGE_KINDS)
                found = [question for question in tried if question is not None]
            else:
                told = each.now.told and rng.random() < TOLD
                reply = self.asker.written(each.change.action, size) if told else None
                found = ask_about(each.change, questions, rng, told=told)
            asked.append([self.asker.encode(question, size) for question in found])
            prefixes.append(self.prefix(each, reply))
        pictures = len(studied[0].pictures)
        return self.asker.batch(asked, _size(studied[0]), pictures=pictures), prefixes

    def prefix(self, studied: Studied, reply: str | None = None) -> Prefix:
        """What stands before the questions about a page or a change; `reply` tells what was done between."""
        images, size = [studied.now.image] * len(studied.pictures), _size(studied)
        if reply is not None:
            return prefix_of(self.bundle, images, self._grid(size), reply)
        key = size, len(images)
        if key not in self._prefixes:
            self._prefixes[key] = prefix_of(self.bundle, images, self._grid(size), None)
        return self._prefixes[key]

    def _grid(self, picture_px: tuple[int, int]) -> tuple[int, int]:
        patch = self.bundle.images.patch_px
        return picture_px[1] // patch, picture_px[0] // patch

    def _answer(self, prepared: PreparedPages, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states of every question's tokens, and the watched head's attention where it is to look."""
        packed = prepared.packed
        shown = tokens.view(len(packed.ids), -1, tokens.shape[-1])
        return answer(self.bundle, packed, shown, prepared.asked, looking=self._looking)

    def _encode(self, prepared: PreparedStrips) -> tuple[Tensor, Tensor]:
        """Pictures one after another: by the last layer, and as tokens."""
        model: Any = self.bundle.model
        patches = patchify(prepared.dense.pixels, self.bundle.images)
        grid, window = self._grid(prepared.size_px), prepared.dense.window
        return fast.encode_images(model.model.visual, patches, *grid, window=window)

    def _dense_losses(self, prepared: PreparedStrips, patches: Tensor, tokens: Tensor) -> dict[str, Tensor]:
        losses: dict[str, Tensor] = {}
        for name, (logits, truth) in self.heads.read(prepared.dense, patches, tokens).items():
            # a token names all letters of a word, or none
            last = 1 if name == "spelling" else 2
            said, true = (
                each.flatten(0, last).index_select(0, prepared.drawn[name]) for each in (logits, truth)
            )
            losses[name] = _mean_loss(said.flatten(0, -2), true.flatten())
        return losses

    def _word_losses(self, hidden: Tensor, asked: AskedBatch) -> Tensor:
        """Of what is written, and of the form around it: each by itself, for most is form and soon known."""
        rows, places, ids = asked.words
        lm_head: Any = self.bundle.model.lm_head
        each = F.cross_entropy(lm_head(hidden[rows, places]), ids, reduction="none")
        groups = asked.written, ~asked.written
        parts = [(each * chosen).sum() / chosen.sum().clamp_min(1) for chosen in groups]
        return torch.stack(parts).sum()

    def _coordinate_losses(self, hidden: Tensor, asked: AskedBatch) -> tuple[Tensor, Tensor]:
        """Of the numbers as soft targets, and of a head that names the place outright."""
        rows, places, at = asked.numbers
        if not len(rows):
            return hidden.new_zeros(()), hidden.new_zeros(())
        lm_head: Any = self.bundle.model.lm_head
        off = (self.asker.numbers_px.to(at.device)[None] - at[:, None]) / self.bundle.coordinates.step
        soft = (-(off**2) / (2 * SOFTNESS**2)).softmax(-1)
        said = lm_head(hidden[rows, places]).log_softmax(-1)[:, self.asker.number_ids]
        place = F.mse_loss(self.heads.place(hidden[rows, places])[:, 0] * 10, at / 20)
        return -(soft * said).sum(-1).mean(), place

    def _answered(self, hidden: Tensor, asked: AskedBatch) -> list[float]:
        """1 for every question answered rightly: its words exactly, its click inside the target."""
        lm_head: Any = self.bundle.model.lm_head
        right = torch.ones(len(asked.asked), dtype=torch.bool, device=hidden.device)
        rows, places, ids = asked.words
        wrong = lm_head(hidden[rows, places]).argmax(-1) != ids
        right[rows[wrong]] = False
        rows, places, _ = asked.numbers
        said = lm_head(hidden[rows, places])[:, self.asker.number_ids].argmax(-1)
        points = self.asker.numbers_px[said.cpu()].view(-1, 2).tolist()
        for row, (x, y) in zip(rows[::2].tolist(), points, strict=True):
            target = asked.asked[row].question.target
            assert target is not None
            left, top, right_edge, bottom = target
            right[row] &= left <= x <= right_edge and top <= y <= bottom
        return right.float().tolist()


def _size(studied: Studied) -> tuple[int, int]:
    """Width and height of its pictures as the model sees them."""
    pixels = studied.pictures[0].pixels
    return int(pixels.shape[1]), int(pixels.shape[0])


def _mean_loss(logits: Tensor, truth: Tensor) -> Tensor:
    return F.cross_entropy(logits, truth) if len(truth) else logits.sum()


def _alike(studied: Sequence[Studied], most: int) -> list[list[Studied]]:
    """In groups of one size and one number of pictures."""
    groups: dict[tuple[int, tuple[int, int]], list[Studied]] = {}
    for each in studied:
        groups.setdefault((len(each.pictures), _size(each)), []).append(each)
    return [each[at : at + most] for each in groups.values() for at in range(0, len(each), most)]
