"""Attention of sequences that stand one after another in a row, each to itself alone and causally.

A sequence may say itself whom each of its tokens sees.

On a processor sequences of one length that are neighbours are attended to as one batch, so put like lengths
together. On a GPU, where small batches cost what large ones do, others are padded to batches, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

STOCK_NAME = "deskhand_apart"
_PADDED = 1.5
"""Times its length that a sequence is padded to at most."""


def attend_apart(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Sequence[int],
    attend: Callable[..., Tensor],
    *,
    last: Sequence[int] | None = None,
    seen: Sequence[Tensor | None] | None = None,
) -> Tensor:
    """Attention within each sequence; on a GPU by `attend_padded`.

    Args:
        query, key, value: [1, heads, all tokens, d]; keys and values may have fewer heads.
        lengths: of the sequences, which are all of the row.
        attend: causal attention of a batch, [n, heads, t, d] each; the queries may be fewer, the last ones.
            Where a sequence says whom its tokens see, with `mask` instead: bool [queries, t].
        last: how many of each sequence's tokens, its last ones, the queries are of; None: all.
        seen: of each sequence bool [t, t], True where one may look; None: causal.

    Returns:
        [1, heads, all queries, d].
    """
    if query.device.type != "cpu":
        return attend_padded(query, key, value, lengths, attend, last=last, seen=seen)
    masks = seen or [None] * len(lengths)
    own_way = [None if mask is None else number for number, mask in enumerate(masks)]
    shapes = zip(last or lengths, lengths, own_way, strict=True)
    runs = [(*shape, len(list(same))) for shape, same in groupby(shapes)]
    # by `split`: the gradient of a slice would be as long as the row, once for each sequence
    queries = query[0].split([asking * count for asking, *_, count in runs], dim=1)
    asked = [
        states[0].split([length * count for _, length, _, count in runs], dim=1) for states in (key, value)
    ]
    found: list[Tensor] = []
    for (asking, length, way, count), own, *others in zip(runs, queries, *asked, strict=True):
        parts = [own.unflatten(1, (count, asking)), *(each.unflatten(1, (count, length)) for each in others)]
        mask = None if way is None else masks[way]
        told = {} if mask is None else {"mask": mask[-asking:]}
        mixed = attend(*(part.transpose(0, 1) for part in parts), **told)
        found.append(mixed.transpose(1, 2).flatten(0, 1))
    return torch.cat(found).transpose(0, 1)[None]


def attend_padded(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Sequence[int],
    attend: Callable[..., Tensor],
    *,
    last: Sequence[int] | None = None,
    seen: Sequence[Tensor | None] | None = None,
) -> Tensor:
    """As `attend_apart`, padded to few batches.

    Args:
        attend: causal attention of a batch; where not all of it is asked, or one says whom it sees, with
            `mask` instead: bool [n, 1, queries, t], True where one may look.
    """
    asking, masks = last or lengths, seen or [None] * len(lengths)
    begun, asked = [0, *accumulate(lengths)], [0, *accumulate(asking)]
    found: list[Tensor] = []
    order: list[Tensor] = []
    for group in _alike(lengths):
        shown = _places([begun[i] for i in group], [lengths[i] for i in group])
        wanted = _places([asked[i] for i in group], [asking[i] for i in group])
        parts = [_taken(states[0], at) for states, at in ((query, wanted), (key, shown), (value, shown))]
        told: dict[str, Tensor] = {}
        before = torch.tensor([lengths[i] - asking[i] for i in group])
        if bool(before.any()) or any(masks[i] is not None for i in group):
            until = before[:, None] + torch.arange(wanted.shape[1])
            looks = (torch.arange(shown.shape[1]) <= until[:, :, None]).to(query.device)
            for look, mask, count in ((looks[n], masks[i], asking[i]) for n, i in enumerate(group)):
                if mask is not None:
                    look[:count] = F.pad(mask[-count:], (0, shown.shape[1] - mask.shape[1]))
            told["mask"] = looks[:, None]
        mixed = attend(*parts, **told).transpose(1, 2).flatten(0, 1)
        real = torch.arange(wanted.shape[1]) < torch.tensor([asking[i] for i in group])[:, None]
        kept = real.flatten().nonzero()[:, 0]
        found.append(mixed.index_select(0, kept.to(mixed.device)))
        order.append(wanted.flatten()[kept])
    back = torch.cat(order).argsort().to(query.device)
    return torch.cat(found).index_select(0, back).transpose(0, 1)[None]


def _taken(states: Tensor, places: Tensor) -> Tensor:
    """[n, heads, t, d] of the places [n, t] in [heads, all tokens, d]."""
    taken = states.index_select(1, places.flatten().to(states.device))
    return taken.unflatten(1, places.shape).transpose(0, 1)


def _alike(lengths: Sequence[int]) -> list[list[int]]:
    """Which sequences are padded together, the longest first."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if not groups or lengths[groups[-1][0]] > _PADDED * lengths[index]:
            groups.append([])
        groups[-1].append(index)
    return groups


def _places(starts: Sequence[int], counts: Sequence[int]) -> Tensor:
    """[sequences, the longest] places of their tokens in the row; those of padding are the last token's."""
    steps = torch.arange(max(counts)).clamp(max=torch.tensor(counts)[:, None] - 1)
    return torch.tensor(starts)[:, None] + steps


def stock_attends_apart(model: Any) -> None:
    """Have a transformers model's text attend within sequences where called with `alone`, their lengths, and
    `seen`, whom their tokens see.

    Without it the model attends as before. Its configuration on disk does not change.
    """
    model.model.language_model.config._attn_implementation = STOCK_NAME


def _stock(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    alone: Sequence[int] | None = None,
    seen: Sequence[Tensor | None] | None = None,
    **told: Any,
) -> tuple[Tensor, None]:
    if alone is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **told)

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        looks = mask if mask is None or mask.dim() == 4 else mask[None, None]
        return sdpa_attention_forward(module, query, key, value, looks, **told)[0].transpose(1, 2)

    return attend_apart(query, key, value, alone, attend, seen=seen).transpose(1, 2), None


AttentionInterface.register(STOCK_NAME, _stock)
AttentionMaskInterface.register(STOCK_NAME, sdpa_mask)
