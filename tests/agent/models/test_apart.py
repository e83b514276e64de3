from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from deskhand_agent.models.apart import attend_apart, attend_padded

HEADS, WIDTH = 2, 4


def drawn(count: int, *, heads: int = HEADS) -> list[Tensor]:
    draw = torch.Generator().manual_seed(count)
    return [
        torch.randn(1, h, count, WIDTH, generator=draw, requires_grad=True) for h in (HEADS, heads, heads)
    ]


def causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def by_mask(query: Tensor, key: Tensor, value: Tensor, lengths: Sequence[int]) -> Tensor:
    """The slow reference: everything with everything, and a mask over most of it."""
    whose = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    mask = (whose[:, None] == whose) & torch.ones(len(whose), len(whose), dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)


def assert_same(found: Tensor, expected: Tensor, mine: list[Tensor], theirs: list[Tensor]) -> None:
    """Outputs, and gradients of a weighted sum of them, by what each was computed from."""
    weight = torch.randn(expected.shape, generator=torch.Generator().manual_seed(9))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    for a, b in zip(
        torch.autograd.grad((found * weight).sum(), mine),
        torch.autograd.grad((expected * weight).sum(), theirs),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("heads", [1, HEADS])
@pytest.mark.parametrize("lengths", [[5], [3, 3, 1, 4], [1, 1, 1], [2, 5, 2]])
def test_equals_attention_under_a_block_mask(lengths: list[int], heads: int) -> None:
    mine, theirs = drawn(sum(lengths), heads=heads), drawn(sum(lengths), heads=heads)
    found, expected = attend_apart(*mine, lengths, causal), by_mask(*theirs, lengths)
    assert_same(found, expected, mine, theirs)


@pytest.mark.parametrize(("lengths", "last"), [([5], [2]), ([3, 3, 1, 4], [2, 2, 1, 1]), ([4, 4], [1, 4])])
def test_the_last_tokens_ask_as_they_do_among_all(lengths: list[int], last: list[int]) -> None:
    query, key, value = drawn(sum(lengths))
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    places = [at for end, count in zip(ends, last, strict=True) for at in range(end - count, end)]

    def from_the_end(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        asking, asked = query.shape[2], key.shape[2]
        mask = torch.ones(asking, asked, dtype=torch.bool).tril(asked - asking)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    found = attend_apart(query[:, :, places], key, value, lengths, from_the_end, last=last)
    expected = attend_apart(query, key, value, lengths, causal)[:, :, places]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def of_ways(length: int, ways: Sequence[Sequence[int]]) -> Tensor:
    """bool [length, length]: each token sees those before it on its ways."""
    seen = torch.zeros(length, length, dtype=torch.bool)
    for way in ways:
        for number, place in enumerate(way):
            seen[place, list(way[: number + 1])] = True
    return seen


@pytest.mark.parametrize("attending", [attend_apart, attend_padded])
@pytest.mark.parametrize(
    "ways",
    [
        [[[0, 1, 2, 5, 6], [0, 1, 2, 3, 4], [0, 7]]],
        [[[0, 1, 2, 3]], [[0, 1, 4], [0, 1, 2, 3]], [[0, 1, 4], [0, 1, 2, 3]], [[0, 1, 2]]],
    ],
)
@pytest.mark.parametrize("fewer", [False, True])
def test_each_token_sees_those_on_its_way(
    ways: list[list[list[int]]], attending: Callable[..., Tensor], *, fewer: bool
) -> None:
    lengths = [1 + max(max(way) for way in own) for own in ways]
    mine, theirs = drawn(sum(lengths)), drawn(sum(lengths))
    seen = [of_ways(length, own) if len(own) > 1 else None for length, own in zip(lengths, ways, strict=True)]

    def masked(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        asking, asked = query.shape[2], key.shape[2]
        if mask is None:
            mask = torch.ones(asking, asked, dtype=torch.bool).tril(asked - asking)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    last = [max(1, length - 3) for length in lengths] if fewer else lengths
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    asked = [at for end, count in zip(ends, last, strict=True) for at in range(end - count, end)]
    how = {"last": last if fewer else None, "seen": seen}
    found = attending(mine[0][:, :, asked], *mine[1:], lengths, masked, **how)
    whole = torch.block_diag(
        *(of_ways(length, own).float() for length, own in zip(lengths, ways, strict=True))
    ).bool()
    expected = F.scaled_dot_product_attention(*theirs, attn_mask=whole)[:, :, asked]
    assert_same(found, expected, mine, theirs)


def test_nan_in_one_sequence_stays_there() -> None:
    lengths = [3, 3, 2]
    clean = drawn(8)
    poisoned = [states.detach().clone() for states in clean]
    for states in poisoned:
        states[:, :, 3:6] = torch.nan
    found, expected = attend_apart(*poisoned, lengths, causal), attend_apart(*clean, lengths, causal)
    others = [0, 1, 2, 6, 7]
    assert torch.equal(found[:, :, others], expected[:, :, others])
    assert found[:, :, 3:6].isnan().all()


def padded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=mask is None, enable_gqa=True
    )


@pytest.mark.parametrize("heads", [1, HEADS])
@pytest.mark.parametrize("lengths", [[5], [3, 3, 1, 4], [1, 1, 1], [2, 5, 2], [9, 2, 7, 1, 8]])
@pytest.mark.parametrize("fewer", [False, True])
def test_padded_to_batches_it_is_the_same_attention(lengths: list[int], heads: int, *, fewer: bool) -> None:
    last = [max(1, length - 2) for length in lengths] if fewer else lengths
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    places = [at for end, count in zip(ends, last, strict=True) for at in range(end - count, end)]
    mine, theirs = drawn(sum(lengths), heads=heads), drawn(sum(lengths), heads=heads)
    found = attend_padded(mine[0][:, :, places], *mine[1:], lengths, padded, last=last if fewer else None)
    expected = by_mask(*theirs, lengths)[:, :, places]
    assert_same(found, expected, mine, theirs)
