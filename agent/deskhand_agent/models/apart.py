"""Attention of sequences that stand one after another in a row, each to itself alone and causally.

A sequence may end in branches, which see what comes before all of them and not each other.

Sequences of one length that are neighbours are attended to as one batch, so put like lengths together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

STOCK_NAME = "deskhand_apart"


def attend_apart(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Sequence[int],
    attend: Callable[..., Tensor],
    *,
    last: Sequence[int] | None = None,
    branches: Sequence[Sequence[int]] | None = None,
) -> Tensor:
    """Attention within each sequence.

    Args:
        query, key, value: [1, heads, all tokens, d]; keys and values may have fewer heads.
        lengths: of the sequences, which are all of the row.
        attend: causal attention of a batch, [n, heads, t, d] each; the queries may be fewer, the last ones.
            Where there are branches, with `mask` instead: bool [queries, t], True where one may look.
        last: how many of each sequence's tokens, its last ones, the queries are of; None: all.
        branches: lengths of those that each sequence ends in; None: none does.

    Returns:
        [1, heads, all queries, d].
    """
    forks = map(tuple, branches or [()] * len(lengths))
    shapes = zip(last or lengths, lengths, forks, strict=True)
    runs = [(*shape, len(list(same))) for shape, same in groupby(shapes)]
    # by `split`: the gradient of a slice would be as long as the row, once for each sequence
    queries = query[0].split([asking * count for asking, *_, count in runs], dim=1)
    asked = [
        states[0].split([length * count for _, length, _, count in runs], dim=1) for states in (key, value)
    ]
    found: list[Tensor] = []
    for (asking, length, fork, count), own, *others in zip(runs, queries, *asked, strict=True):
        parts = [own.unflatten(1, (count, asking)), *(each.unflatten(1, (count, length)) for each in others)]
        told = {"mask": _branched(length, fork).to(query.device)[-asking:]} if fork else {}
        mixed = attend(*(part.transpose(0, 1) for part in parts), **told)
        found.append(mixed.transpose(1, 2).flatten(0, 1))
    return torch.cat(found).transpose(0, 1)[None]


def _branched(length: int, branches: Sequence[int]) -> Tensor:
    """bool [length, length]: whom each token of a sequence sees that ends in branches of those lengths."""
    counts = torch.tensor([length - sum(branches), *branches])
    whose = torch.repeat_interleave(torch.arange(len(counts)), counts)
    return ((whose == 0) | (whose == whose[:, None])).tril()


def stock_attends_apart(model: Any) -> None:
    """Have a transformers model's text attend within sequences where called with `alone`, their lengths, and
    `branches` of them.

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
    branches: Sequence[Sequence[int]] | None = None,
    **told: Any,
) -> tuple[Tensor, None]:
    if alone is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **told)

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        seen = None if mask is None else mask[None, None]
        return sdpa_attention_forward(module, query, key, value, seen, **told)[0].transpose(1, 2)

    return attend_apart(query, key, value, alone, attend, branches=branches).transpose(1, 2), None


AttentionInterface.register(STOCK_NAME, _stock)
AttentionMaskInterface.register(STOCK_NAME, sdpa_mask)
