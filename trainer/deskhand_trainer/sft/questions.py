"""Pointing questions: "click what is called so", asked as tasks ask and answered as the agent acts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import encode_text, footer, message_header, tokenise_reply
from deskhand_sandbox.types import Click
from deskhand_trainer.sft.pages import Box, PerceptionPage, words_of

_ASKED = {
    "button": ('Click on the "{}" button.', "Click button {}.", 'Click the "{}" button.'),
    "a": ('Click on the link "{}".', 'Click on "{}".'),
}
_ASKED_OTHERWISE = ('Click on "{}".', 'Find "{}".', "Select {}.")
_LONGEST_LABEL = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Something on a page with a name no other thing there has."""

    kind: str
    name: str
    box: Box


def targets_of(page: PerceptionPage) -> list[Target]:
    """Elements and single words below the instruction whose name is unique on the page."""
    elements = [
        e
        for e in page.elements
        if e.label and "\n" not in e.label and len(e.label) <= _LONGEST_LABEL and len(e.label.split()) <= 3
    ]
    count = Counter(e.label for e in elements)
    found = [
        Target(kind=e.kind, name=e.label, box=e.box)
        for e in elements
        if count[e.label] == 1 and e.box[3] > page.content_top_px
    ]
    named = {t.name for t in found}
    words, _ = words_of(page)
    below = [(w.text.strip('.,:;"'), w.box) for w in words if w.box[1] >= page.content_top_px]
    often = Counter(text for text, _ in below)
    found += [
        Target(kind="word", name=text, box=box)
        for text, box in below
        if often[text] == 1 and len(text) > 1 and text not in named
    ]
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question and its answer as ids, to stand behind a page's picture."""

    ids: tuple[int, ...]
    answer: tuple[int, ...]
    """Reply ids, end token included."""
    at: tuple[float, float]
    """Middle of the target in pixels."""
    box: Box
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedBatch:
    """Questions side by side, the same number for every page."""

    ids: Tensor
    """[n, t], padded on the right with zeros."""
    words: tuple[Tensor, Tensor, Tensor]
    """Rows, places and ids of the answer's tokens that are no coordinates; a place is that of the token
    before, which predicts it."""
    numbers: tuple[Tensor, Tensor, Tensor]
    """Rows, places, and true coordinates in pixels: x and y of every question in turn."""
    looks: tuple[Tensor, Tensor, Tensor]
    """Rows, places, and bool [., tokens of the picture] where to look then."""
    questions: tuple[Question, ...]


class Asker:
    """Turns targets into questions in the bundle's tokens."""

    def __init__(self, bundle: ModelBundle, size_px: tuple[int, int]) -> None:
        self._bundle = bundle
        self._frame = bundle.coordinates.frame(size_px)
        self._size_px = size_px
        self._turn = [*footer(bundle), *message_header(bundle, "assistant")]
        step = bundle.coordinates.step
        extent = bundle.tiny.max_side_px if bundle.tiny is not None else 0
        if not extent:
            raise ValueError("the perception stage is for tiny models: a released one already sees")
        numbers = range(0, extent, step)
        self.number_ids = torch.tensor(bundle.tokenizer.convert_tokens_to_ids([str(n) for n in numbers]))
        """Ids of the coordinate numbers, ascending."""
        self.numbers_px = torch.tensor([float(n) for n in numbers])
        self._is_number = set(self.number_ids.tolist())
        self._opening = encode_text(bundle, "click(point='<point>")

    def ask(self, target: Target, rng: random.Random) -> Question:
        """One question in words drawn at random."""
        text = rng.choice(_ASKED.get(target.kind, _ASKED_OTHERWISE)).format(target.name)
        left, top, right, bottom = target.box
        x = (max(left, 0.0) + min(right, self._size_px[0] - 1.0)) / 2
        y = (max(top, 0.0) + min(bottom, self._size_px[1] - 1.0)) / 2
        point = self._frame.to_model((round(x), round(y)))
        reply = format_reply(None, (Click(x=point[0], y=point[1]),))
        return Question(
            ids=(*encode_text(self._bundle, text + "\n"), *self._turn),
            answer=tokenise_reply(self._bundle, reply),
            at=(x, y),
            box=target.box,
            kind=target.kind,
        )

    def batch(self, questions: Sequence[Question], picture_px: tuple[int, int]) -> AskedBatch:
        """Pad questions and say what is to be predicted where."""
        longest = max(len(q.ids) + len(q.answer) for q in questions)
        ids = torch.zeros(len(questions), longest, dtype=torch.long)
        words: list[tuple[int, int, int]] = []
        numbers: list[tuple[int, int, float]] = []
        looks: list[tuple[int, int]] = []
        seen: list[Tensor] = []
        for row, question in enumerate(questions):
            both = question.ids + question.answer
            ids[row, : len(both)] = torch.tensor(both)
            before = len(question.ids) - 1
            coordinates = iter(question.at)
            cover = self._cover(question.box, picture_px)
            for place, token in enumerate(question.answer):
                if token in self._is_number and place >= len(self._opening):
                    numbers.append((row, before + place, next(coordinates)))
                else:
                    words.append((row, before + place, token))
                if place < len(self._opening) + 3:
                    looks.append((row, before + place))
                    seen.append(cover)
        rows, places, tokens = zip(*words, strict=True)
        number_rows, number_places, at = zip(*numbers, strict=True)
        return AskedBatch(
            ids=ids,
            words=(torch.tensor(rows), torch.tensor(places), torch.tensor(tokens)),
            numbers=(torch.tensor(number_rows), torch.tensor(number_places), torch.tensor(at)),
            looks=(
                torch.tensor([row for row, _ in looks]),
                torch.tensor([place for _, place in looks]),
                torch.stack(seen),
            ),
            questions=tuple(questions),
        )

    def _cover(self, box: Box, picture_px: tuple[int, int]) -> Tensor:
        """bool [tokens]: the picture's tokens that the box touches."""
        factor = self._bundle.images.factor_px
        columns, rows = picture_px[0] // factor, picture_px[1] // factor
        left, top, right, bottom = (int(edge) // factor for edge in box)
        cover = torch.zeros(rows, columns, dtype=torch.bool)
        cover[max(top, 0) : bottom + 1, max(left, 0) : right + 1] = True
        return cover.flatten()
