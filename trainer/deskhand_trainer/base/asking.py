"""Questions in the tokens of a model, side by side, with what is to be predicted where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import encode_text, footer, message_header, tokenise_reply
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import Action, Click
from deskhand_trainer.base.kinds import Question

_POINT = re.compile(r"<point>(\d+) (\d+)</point>")
_OPENING = "click(point='<point>"
_LOOKS_AFTER_OPENING = 3
"""Tokens of a click that are predicted while looking at the target: what opens it, x, the blank and y."""

_TYPING = "\ntype(content='"
"""What stands between a click and what is typed after it."""
_AFTER_TEXT = 2
"""Tokens of an answer after its text: what closes it, and the end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """A question and its answer as ids, to stand behind a page's picture or two."""

    question: Question
    ids: tuple[int, ...]
    answer: tuple[int, ...]
    """Reply ids, end token included."""
    at: tuple[float, float] | None
    """Middle of the target in pixels where the answer is a click, or begins with one."""
    text_at: int
    """Place of the first token of what is said or typed, where there is such."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedBatch:
    """Questions side by side, those of a page one after another."""

    each: Tensor
    """[pages] how many questions each page is asked."""
    ids: Tensor
    """[n, t], padded on the right with zeros."""
    words: tuple[Tensor, Tensor, Tensor]
    """Rows, places and ids of the answers' tokens that are no coordinates; a place is that of the token
    before, which predicts it."""
    written: Tensor
    """bool [as many as `words`]: those that stand in a reply's text."""
    numbers: tuple[Tensor, Tensor, Tensor]
    """Rows, places, and true coordinates in pixels: x and y of every clicking question in turn."""
    looks: tuple[Tensor, Tensor, Tensor]
    """Rows, places, and bool [., tokens of all pictures] where to look then."""
    asked: tuple[Encoded, ...]


class Asker:
    """Turns questions into the bundle's tokens."""

    def __init__(self, bundle: ModelBundle) -> None:
        """Raises:
        ValueError: a released model.
        """
        if bundle.tiny is None:
            raise ValueError("the perception stage is for tiny models: a released one already sees")
        self._bundle = bundle
        self._turn = [*footer(bundle), *message_header(bundle, "assistant")]
        numbers = range(0, bundle.tiny.max_side_px, bundle.coordinates.step)
        self.number_ids = torch.tensor(bundle.tokenizer.convert_tokens_to_ids([str(n) for n in numbers]))
        """Ids of the coordinate numbers, ascending."""
        self.numbers_px = torch.tensor([float(n) for n in numbers])
        self._is_number = set(self.number_ids.tolist())
        self._opening = len(encode_text(bundle, _OPENING))
        self._clicking = self._opening + _LOOKS_AFTER_OPENING

    def encode(self, question: Question, size_px: tuple[int, int]) -> Encoded:
        """A question about a picture of a size, its points rounded as the model's are."""
        frame = self._bundle.coordinates.frame(size_px)
        reply, at, text_at = question.reply, None, 1
        if isinstance(reply, Click):
            assert question.target is not None
            at = _middle(question.target, size_px)
            x, y = frame.to_model((round(at[0]), round(at[1])))
            reply = replace(reply, x=x, y=y)
        if question.then is not None:
            text_at = len(encode_text(self._bundle, format_reply(None, (reply,)) + _TYPING))
        return Encoded(
            question=question,
            ids=(*encode_text(self._bundle, self.text(question, size_px) + "\n"), *self._turn),
            answer=tokenise_reply(self._bundle, format_reply(None, (reply, *question.actions[1:]))),
            at=at,
            text_at=text_at,
        )

    def text(self, question: Question, size_px: tuple[int, int]) -> str:
        """A question's text, its points rounded as the model's are."""
        frame = self._bundle.coordinates.frame(size_px)

        def rounded(match: re.Match[str]) -> str:
            x, y = frame.to_model((int(match[1]), int(match[2])))
            return f"<point>{x} {y}</point>"

        return _POINT.sub(rounded, question.text)

    def written(self, action: Action, size_px: tuple[int, int]) -> str:
        """An action on a screenshot of a size, as the agent's prompts write those of earlier turns."""
        return format_reply(None, (self._bundle.coordinates.frame(size_px).action_to_model(action),))

    def batch(
        self, pages: Sequence[Sequence[Encoded]], picture_px: tuple[int, int], *, pictures: int = 1
    ) -> AskedBatch:
        """Pad the questions of pages and say what is to be predicted where.

        Args:
            pages: of each its questions; one question or more in all.
            picture_px: size of every page's picture as the model sees it.
            pictures: how many of each page stand before its questions.
        """
        asked = [encoded for page in pages for encoded in page]
        longest = max(len(each.ids) + len(each.answer) for each in asked)
        tokens = (picture_px[0] // self._bundle.images.factor_px) * (
            picture_px[1] // self._bundle.images.factor_px
        )
        ids = torch.zeros(len(asked), longest, dtype=torch.long)
        words: list[tuple[int, int, int]] = []
        written: list[bool] = []
        numbers: list[tuple[int, int, float]] = []
        looks: list[tuple[int, int]] = []
        seen: list[Tensor] = []
        for row, encoded in enumerate(asked):
            both = encoded.ids + encoded.answer
            ids[row, : len(both)] = torch.tensor(both)
            before = len(encoded.ids) - 1
            coordinates = iter(encoded.at or ())
            picture = 0 if encoded.question.before else -1

            def covered(box: Box, picture: int = picture) -> Tensor:
                cover = torch.zeros(pictures, tokens, dtype=torch.bool)
                cover[picture] = self._cover(box, picture_px)
                return cover.flatten()

            covers: dict[Box, Tensor] = {}
            clicking = 0 if encoded.at is None else self._clicking
            text_ends = len(encoded.answer) - _AFTER_TEXT if encoded.question.written else 0
            looked_at = self._looked_at(encoded)
            for place, (token, box) in enumerate(zip(encoded.answer, looked_at, strict=True)):
                if token in self._is_number and self._opening <= place < clicking:
                    numbers.append((row, before + place, next(coordinates)))
                else:
                    words.append((row, before + place, token))
                    written.append(encoded.text_at <= place < text_ends)
                if box is not None:
                    looks.append((row, before + place))
                    if box not in covers:
                        covers[box] = covered(box)
                    seen.append(covers[box])
        looked = torch.stack(seen) if seen else torch.zeros(0, pictures * tokens, dtype=torch.bool)
        return AskedBatch(
            each=torch.tensor([len(page) for page in pages]),
            ids=ids,
            words=_columns(words, torch.long),
            written=torch.tensor(written),
            numbers=_columns(numbers, torch.float),
            looks=(*_columns([(*look, 0) for look in looks], torch.long)[:2], looked),
            asked=tuple(asked),
        )

    def _looked_at(self, encoded: Encoded) -> list[Box | None]:
        """Where to look while each token of an answer is predicted; None: nowhere, or anywhere."""
        question, length, at = encoded.question, len(encoded.answer), encoded.text_at
        boxes: list[Box | None] = [question.target] * length
        if encoded.at is not None:
            boxes[self._clicking :] = [None] * (length - self._clicking)
        if question.then is not None:
            boxes[at - 1 :] = [question.copied] * (length - at + 1)
        # where every letter is a token
        if question.letters and length == at + len(question.letters) + _AFTER_TEXT:
            boxes[at : at + len(question.letters)] = question.letters
        return boxes

    def _cover(self, box: Box, picture_px: tuple[int, int]) -> Tensor:
        """bool [tokens]: the picture's tokens that the box touches."""
        factor = self._bundle.images.factor_px
        columns, rows = picture_px[0] // factor, picture_px[1] // factor
        left, top, right, bottom = (int(edge) // factor for edge in box)
        cover = torch.zeros(rows, columns, dtype=torch.bool)
        cover[max(top, 0) : bottom + 1, max(left, 0) : right + 1] = True
        return cover.flatten()


def _middle(box: Box, size_px: tuple[int, int]) -> tuple[float, float]:
    left, top, right, bottom = box
    x = (max(left, 0.0) + min(right, size_px[0] - 1.0)) / 2
    y = (max(top, 0.0) + min(bottom, size_px[1] - 1.0)) / 2
    return x, y


def _columns(rows: Sequence[tuple[int, int, float]], kind: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        torch.tensor(first, dtype=torch.long),
        torch.tensor(second, dtype=torch.long),
        torch.tensor(third, dtype=kind),
    )
