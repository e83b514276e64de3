"""One forward pass for scoring and serving: prompts and replies as ids, pictures as features.

Sequences stand side by side, padded on the right, so that a real token never looks at padding under the
causal mask; or packed, one after another in a single row, each seeing itself alone, and then nothing is
computed for padding. Rotary positions are given explicitly. A picture is encoded once however many sequences
show it. The fast functions serve where they compute the same numbers (see `fast.supports`), the stock
transformers model everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

from deskhand_agent.errors import InferenceError
from deskhand_agent.models import fast
from deskhand_agent.models.apart import stock_attends_apart
from deskhand_agent.models.bundle import ModelBundle
from deskhand_sandbox.types import Image

KeyValueCache: TypeAlias = "list[fast.LayerCache] | DynamicCache"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenSequence:
    """Ids with the pictures of their placeholder runs."""

    ids: tuple[int, ...]
    images: tuple[Image, ...]
    positions: Tensor | None = field(default=None, compare=False)
    """[3, t] rotary positions; None: as they follow one another."""
    seen: Tensor | None = field(default=None, compare=False)
    """bool [t, t]: whom each of the tokens sees, where sequences are packed; None: all before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Sequences side by side, or packed."""

    ids: Tensor
    """[b, t], padded on the right; [1, all tokens] packed."""
    positions: Tensor
    """[3, *ids.shape] rotary positions."""
    starts: Tensor
    """[b] where each sequence begins in the flattened ids."""
    lengths: Tensor
    """[b] real tokens."""
    next_positions: Tensor
    """[b] rotary position of the token that would come next; 0 where positions were given."""
    images: tuple[Image, ...]
    """The distinct pictures."""
    shown: tuple[int, ...]
    """Which of them each placeholder run stands for, in reading order."""
    packed: bool
    """One after another in a single row, each seeing itself alone."""
    seen: tuple[Tensor | None, ...]
    """Of each sequence."""


def collate(bundle: ModelBundle, sequences: Sequence[TokenSequence], *, packed: bool = False) -> Batch:
    """Place, and pad or pack.

    Raises:
        InferenceError: a picture is unreadable, or its placeholder run has another length than its features.
    """
    pad = int(cast(Any, bundle.tokenizer).pad_token_id or 0)
    images = {image.digest: image for sequence in sequences for image in sequence.images}
    numbers = {digest: number for number, digest in enumerate(images)}
    grids = {digest: bundle.cache.grid(image) for digest, image in images.items()}
    rows: list[Tensor] = []
    places: list[Tensor] = []
    following: list[int] = []
    for sequence in sequences:
        placed, after = sequence.positions, 0
        if placed is None:
            shown = [grids[i.digest] for i in sequence.images]
            placed, after = rotary_positions(bundle, sequence.ids, shown)
        rows.append(torch.tensor(sequence.ids))
        places.append(placed.T)
        following.append(after)
    lengths = torch.tensor([len(row) for row in rows])
    if packed:
        ids, positions = torch.cat(rows)[None], torch.cat(places)[None]
        starts = lengths.cumsum(0) - lengths
    else:
        ids = pad_sequence(rows, batch_first=True, padding_value=pad)
        positions = pad_sequence(places, batch_first=True)
        starts = torch.arange(len(rows)) * ids.shape[1]
    device = bundle.device
    return Batch(
        ids=ids.to(device),
        positions=positions.permute(2, 0, 1).to(device),
        starts=starts.to(device),
        lengths=lengths.to(device),
        next_positions=torch.tensor(following, device=device),
        images=tuple(images.values()),
        shown=tuple(numbers[i.digest] for sequence in sequences for i in sequence.images),
        packed=packed,
        seen=tuple(None if s.seen is None else s.seen.to(device) for s in sequences),
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


def last_states(
    bundle: ModelBundle, batch: Batch, last: Sequence[int], *, features: Sequence[Tensor] | None = None
) -> Tensor:
    """Hidden states after the last norm of the last real tokens of each sequence.

    Args:
        last: how many of each.
        features: as for `forward`.

    Returns:
        [all of them, width], sequence by sequence.
    """
    if batch.packed and fast.supports(bundle.model):
        text: Any = bundle.model.model.language_model
        embeddings, _, _ = _embedded(bundle, batch, features)
        apart: dict[str, Any] = {"alone": batch.lengths.tolist(), "seen": batch.seen}
        states, _ = fast.decode_text(text, embeddings, batch.positions, None, last=last, keep=False, **apart)
        return states[0]
    states, _ = forward(bundle, batch, features=features)
    places = fast.last_places((batch.starts + batch.lengths).tolist(), last)
    return states.flatten(0, 1)[places.to(states.device)]


def forward(
    bundle: ModelBundle, batch: Batch, *, cache: bool = False, features: Sequence[Tensor] | None = None
) -> tuple[Tensor, KeyValueCache | None]:
    """Hidden states of every token after the last norm.

    Args:
        cache: keep keys and values, of sequences side by side.
        features: of `encode_pictures` for the batch's images; None: they are encoded here.

    Returns:
        [*ids.shape, width] (garbage at padding), and keys and values to go on from when asked for.
    """
    model: Any = bundle.model
    embeddings, seen, levels = _embedded(bundle, batch, features)
    text = model.model.language_model
    told: dict[str, Any] = {}
    if batch.packed:
        told = {"alone": batch.lengths.tolist(), "seen": batch.seen}
    if fast.supports(model):
        hidden, kept = fast.decode_text(text, embeddings, batch.positions, None, keep=cache, **told)
        return hidden, kept if cache else None
    if batch.packed:
        stock_attends_apart(model)
    else:
        real = torch.arange(batch.ids.shape[1], device=batch.ids.device) < batch.lengths[:, None]
        told["attention_mask"] = real.long()
    if levels is not None and len(levels) > 1:
        told |= {"visual_pos_masks": seen, "deepstack_visual_embeds": list(levels[1:])}
    out = text(inputs_embeds=embeddings, position_ids=batch.positions, use_cache=cache, **told)
    return out.last_hidden_state, out.past_key_values if cache else None


def _embedded(
    bundle: ModelBundle, batch: Batch, features: Sequence[Tensor] | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Embeddings with pictures in their places [*ids.shape, width], where those are, and their levels."""
    model: Any = bundle.model
    if features is None:
        features = encode_pictures(bundle, batch.images)
    embeddings = model.get_input_embeddings()(batch.ids)
    seen = batch.ids == model.config.image_token_id
    levels = torch.cat([features[i] for i in batch.shown], dim=1) if batch.shown else None
    if levels is not None:
        embeddings = embeddings.masked_scatter(seen[:, :, None], levels[0].to(embeddings.dtype))
    return embeddings, seen, levels


def encode_pictures(bundle: ModelBundle, images: Sequence[Image]) -> list[Tensor]:
    """What the vision tower makes of pictures, with gradients where it is trained.

    Returns:
        per picture [levels, tokens, width]: what takes the place of its placeholders, then what a model with
        DeepStack (arXiv 2406.04334) adds to them after each of its first layers.

    Raises:
        InferenceError: a picture is unreadable.
    """
    if not images:
        return []
    model: Any = bundle.model
    patches, grids = bundle.cache.features(images, bundle.device)
    if not fast.supports(model):
        shape = torch.tensor([[1, *grid] for grid in grids], device=bundle.device)
        found = model.model.get_image_features(torch.cat(patches), shape)
        levels = [found.pooler_output, *getattr(found, "deepstack_features", ())]
        return [torch.stack(each) for each in zip(*levels, strict=True)]
    by_grid: dict[tuple[int, int], list[int]] = {}
    for index, grid in enumerate(grids):
        by_grid.setdefault(grid, []).append(index)
    tokens: list[Tensor] = [torch.empty(0)] * len(grids)
    for (rows, columns), members in by_grid.items():
        same = torch.stack([patches[i] for i in members])
        _, merged = fast.encode_images(model.model.visual, same, rows, columns)
        for index, picture in zip(members, merged, strict=True):
            tokens[index] = picture[None]
    return tokens
