"""One forward pass for scoring and serving: prompts and replies as ids, pictures as features.

Sequences are padded on the right, so a real token never looks at padding under the causal mask; rotary
positions are given explicitly. The fast functions serve where they compute the same numbers (see
`fast.supports`), the stock transformers model everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor
from transformers import DynamicCache

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_sandbox.types import Image

KeyValueCache: TypeAlias = "list[fast.LayerCache] | DynamicCache"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSequence:
    """Ids with the pictures of their placeholder runs."""

    ids: tuple[int, ...]
    images: tuple[Image, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Sequences side by side."""

    ids: Tensor
    """[b, t], padded on the right."""
    positions: Tensor
    """[3, b, t] rotary positions."""
    lengths: Tensor
    """[b] real tokens."""
    next_positions: Tensor
    """[b] rotary position of the token that would come next."""
    patches: tuple[Tensor, ...]
    """Per picture, in reading order: [patches, features]."""
    grids: tuple[tuple[int, int], ...]
    """Per picture: patches per column and per row (rows, columns)."""


def collate(bundle: ModelBundle, sequences: Sequence[TokenSequence]) -> Batch:
    """Pad, place and cut.

    Raises:
        InferenceError: a picture is unreadable, or its placeholder run has another length than its features.
    """
    longest = max(len(sequence.ids) for sequence in sequences)
    pad = int(cast(Any, bundle.tokenizer).pad_token_id or 0)
    ids = torch.full((len(sequences), longest), pad)
    positions = torch.zeros(3, len(sequences), longest, dtype=torch.long)
    following: list[int] = []
    patches: list[Tensor] = []
    grids: list[tuple[int, int]] = []
    for row, sequence in enumerate(sequences):
        count = len(sequence.ids)
        features, shapes = bundle.cache.features(sequence.images)
        ids[row, :count] = torch.tensor(sequence.ids)
        placed, after = rotary_positions(bundle, sequence.ids, shapes)
        positions[:, row, :count] = placed
        following.append(after)
        patches += features
        grids += shapes
    device = bundle.device
    return Batch(
        ids=ids.to(device),
        positions=positions.to(device),
        lengths=torch.tensor([len(s.ids) for s in sequences], device=device),
        next_positions=torch.tensor(following, device=device),
        patches=tuple(p.to(device) for p in patches),
        grids=tuple(grids),
    )


def rotary_positions(
    bundle: ModelBundle, ids: Sequence[int], grids: Sequence[tuple[int, int]]
) -> tuple[Tensor, int]:
    """Positions of Qwen's multimodal rotary embedding (arXiv 2409.12191, section 2.1).

    Text advances all three by one; a picture's tokens share the time and count rows and columns from there,
    and text goes on after the longer side.

    Returns:
        [3, t], and the position of the next token.

    Raises:
        InferenceError: placeholder runs and pictures do not fit each other.
    """
    image_id = int(bundle.model.config.image_token_id)
    merge = bundle.images.merge
    parts: list[Tensor] = []
    at, index, run = 0, 0, 0
    while index < len(ids):
        start = index
        if ids[index] != image_id:
            while index < len(ids) and ids[index] != image_id:
                index += 1
            parts.append(torch.arange(at, at + index - start).expand(3, -1))
            at += index - start
            continue
        if run >= len(grids):
            raise InferenceError(f"the prompt has more placeholder runs than its {len(grids)} pictures")
        rows, columns = grids[run][0] // merge, grids[run][1] // merge
        index += rows * columns
        if any(i != image_id for i in ids[start:index]) or index > len(ids):
            raise InferenceError(f"picture {run} has {rows * columns} tokens, its placeholder run fewer")
        time = torch.zeros(rows * columns, dtype=torch.long)
        height = torch.arange(rows).repeat_interleave(columns)
        width = torch.arange(columns).repeat(rows)
        parts.append(torch.stack([time, height, width]) + at)
        at += max(rows, columns)
        run += 1
    if run != len(grids):
        raise InferenceError(f"the prompt has {run} placeholder runs and {len(grids)} pictures")
    return torch.cat(parts, dim=1), at


def forward(bundle: ModelBundle, batch: Batch, *, cache: bool = False) -> tuple[Tensor, KeyValueCache | None]:
    """Hidden states of every token after the last norm.

    Returns:
        [b, t, width] (garbage at padding), and keys and values to go on from when asked for.
    """
    model: Any = bundle.model
    if not fast.supports(model):
        return _stock(model, batch, cache=cache)
    embeddings = model.get_input_embeddings()(batch.ids)
    if batch.grids:
        seen = batch.ids == model.config.image_token_id
        embeddings = embeddings.masked_scatter(seen[:, :, None], _encode(model, batch).to(embeddings.dtype))
    hidden, kept = fast.decode_text(model.model.language_model, embeddings, batch.positions, None)
    return hidden, kept if cache else None


def _encode(model: Any, batch: Batch) -> Tensor:
    by_grid: dict[tuple[int, int], list[int]] = {}
    for index, grid in enumerate(batch.grids):
        by_grid.setdefault(grid, []).append(index)
    tokens: list[Tensor] = [torch.empty(0)] * len(batch.grids)
    for (rows, columns), members in by_grid.items():
        _, merged = fast.encode_images(
            model.model.visual, torch.stack([batch.patches[i] for i in members]), rows, columns
        )
        for index, picture in zip(members, merged, strict=True):
            tokens[index] = picture
    return torch.cat(tokens)


def _stock(model: Any, batch: Batch, *, cache: bool) -> tuple[Tensor, KeyValueCache | None]:
    pictures: dict[str, Tensor] = {}
    if batch.grids:
        pictures["pixel_values"] = torch.cat(batch.patches)
        pictures["image_grid_thw"] = torch.tensor(
            [[1, *grid] for grid in batch.grids], device=batch.ids.device
        )
    real = torch.arange(batch.ids.shape[1], device=batch.ids.device) < batch.lengths[:, None]
    out = model.model(
        input_ids=batch.ids,
        attention_mask=real.long(),
        position_ids=batch.positions,
        use_cache=cache,
        **pictures,
    )
    return out.last_hidden_state, out.past_key_values if cache else None
