"""Many questions behind pictures that are encoded once: the same numbers as one prompt per question.

Two pictures stand as the agent's own prompts place two screenshots: each in a message of the user's, between
them the reply that led from one to the other, unless it is what is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import rotary_positions
from deskhand_agent.models.prompting import footer, message_header, tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image
from deskhand_trainer.base.asking import AskedBatch

OPENING = "\n"
"""What an agent's first message says where there is no instruction."""
_BATCHES = 3
"""Questions are answered in so many batches, by their length."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefix:
    """What stands before the questions about a picture, or about two."""

    ids: tuple[int, ...]
    positions: Tensor
    """[3, t] rotary positions."""
    after: int
    """The position of the token that comes next."""
    pictures: Tensor
    """[tokens of all pictures] their places among the ids."""


def showing(images: Sequence[Image], reply: str | None) -> list[PromptMessage]:
    """One picture, or two with a reply or nothing between them, as messages; a question goes to the end."""
    *before, now = (ImageSegment(image=image) for image in images)
    messages: list[PromptMessage] = []
    for picture in before:
        messages.append(PromptMessage(role="user", segments=(Text(text=OPENING), picture)))
        if reply is not None:
            messages.append(PromptMessage(role="assistant", segments=(Text(text=reply),)))
    return [*messages, PromptMessage(role="user", segments=(now,))]


def prefix_of(
    bundle: ModelBundle, images: Sequence[Image], grid: tuple[int, int], reply: str | None
) -> Prefix:
    """See `showing`; `grid` is rows and columns of each picture's patches."""
    prompt = tokenise_prompt(bundle, showing(images, reply))
    ids = prompt.ids[: -len(footer(bundle)) - len(message_header(bundle, "assistant"))]
    positions, after = rotary_positions(bundle, ids, [grid] * len(images))
    pictures = torch.tensor(ids) == bundle.model.config.image_token_id
    return Prefix(ids=ids, positions=positions, after=after, pictures=pictures.nonzero()[:, 0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """What stands before the questions, and the questions in batches of like length."""

    ids: Tensor
    """[pages, p] of the prefixes, padded on the right."""
    positions: Tensor
    """[3, pages, p] rotary positions."""
    real: Tensor
    """bool [pages, p], False at padding."""
    pictures: Tensor
    """[pages, tokens of all pictures] their places among the ids."""
    page: Tensor
    """[n] which page each question is about."""
    batches: tuple[tuple[Tensor, Tensor], ...]
    """Of each the questions' ids [rows, t], as many rows of every page, and their positions [3, rows, t]."""
    back: Tensor
    """[n] where each question is among all rows."""


def pack(prefixes: Sequence[Prefix], asked: AskedBatch) -> Packed:
    """Questions behind what they stand behind.

    Args:
        prefixes: of each page.
    """
    longest = max(len(prefix.ids) for prefix in prefixes)
    ids = torch.zeros(len(prefixes), longest, dtype=torch.long)
    positions = torch.zeros(3, len(prefixes), longest, dtype=torch.long)
    for row, prefix in enumerate(prefixes):
        ids[row, : len(prefix.ids)] = torch.tensor(prefix.ids)
        positions[:, row, : len(prefix.ids)] = prefix.positions
    page = torch.arange(len(prefixes)).repeat_interleave(asked.each)
    after = torch.tensor([prefix.after for prefix in prefixes])[page]
    lengths = torch.tensor([len(each.ids) + len(each.answer) for each in asked.asked])
    batches: list[tuple[Tensor, Tensor]] = []
    back = torch.zeros(len(lengths), dtype=torch.long)
    for number, rows in enumerate(_batches(lengths, asked.each)):
        count = int(lengths[rows].max())
        places = (after[rows, None] + torch.arange(count)).expand(3, -1, -1)
        batches.append((asked.ids[rows, :count], places))
        back[rows] = number * len(rows) + torch.arange(len(rows))
    return Packed(
        ids=ids,
        positions=positions,
        real=torch.arange(longest) < torch.tensor([len(prefix.ids) for prefix in prefixes])[:, None],
        pictures=torch.stack([prefix.pictures for prefix in prefixes]),
        page=page,
        batches=tuple(batches),
        back=back,
    )


def answer(
    bundle: ModelBundle,
    packed: Packed,
    tokens: Tensor,
    asked: AskedBatch,
    *,
    looking: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """Each question sees what stands before it and itself, its positions counted on from there.

    Args:
        tokens: [pages, tokens of all pictures, width].
        looking: layer and head whose attention is watched.

    Returns:
        hidden states of every question's tokens [n, t, width], and the watched attention [.] on what
        `asked.looks` covers.
    """
    model: Any = bundle.model
    text = model.model.language_model
    embed = model.get_input_embeddings()
    shown = packed.ids == model.config.image_token_id
    embeddings = embed(packed.ids).masked_scatter(shown[:, :, None], tokens.to(embed.weight.dtype))
    # of what stands before the questions, only keys and values are read
    _, cache = fast.decode_text(text, embeddings, packed.positions, None, last=[1])
    states: list[Tensor] = []
    watched: list[Tensor] = []
    for ids, positions in packed.batches:
        hidden, weights = fast.decode_behind(text, embed(ids), positions, cache, packed.real, watch=looking)
        missing = (0, 0, 0, asked.ids.shape[1] - ids.shape[1])
        states.append(F.pad(hidden, missing))
        watched.append(F.pad(weights, missing))
    rows, places, cover = asked.looks
    attention = torch.cat(watched)[packed.back[rows], places]
    on_pictures = attention.gather(1, packed.pictures[packed.page[rows]])
    return torch.cat(states)[packed.back], (on_pictures * cover).sum(-1)


def _batches(lengths: Tensor, each: Tensor) -> list[Tensor]:
    """Rows of each batch: as many of every page, one after another; its longest again where it has too few.

    Short questions stand beside short ones: as one batch, four in ten places would be padding.
    """
    width = -(-int(each.max()) // _BATCHES)
    table = torch.zeros(len(each), width * _BATCHES, dtype=torch.long)
    for page, rows in enumerate(torch.arange(len(lengths)).split(each.tolist())):
        ordered = rows[lengths[rows].argsort(stable=True)]
        table[page] = ordered[torch.arange(width * _BATCHES).clamp(max=len(rows) - 1)]
    return [batch.flatten() for batch in table.split(width, dim=1)]
