"""Keys and values of rows that grow by one token at a time, in memory that is taken once and kept.

Rows lie side by side from 0 on, each as long as it is: a row joins behind the last, and where one leaves the
last takes its place. Nothing is copied but that row, and nothing grows but when a longer prompt comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

LayerStates = tuple[Tensor, Tensor]
"""Keys and values of one layer, each [1, heads, t, d]."""

_TOKENS = 64
"""Lengths are rounded up to multiples of this."""


class KeyValueRows:
    """The rows that are being replied to."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        """Tokens of each row."""
        self.longest = 0
        """Tokens of the longest row in the step under way, its new one included."""
        self.visible: Tensor | None = None
        """bool [rows, 1, 1, longest], False behind a row's new token; None where all rows are as long."""
        self._states = torch.empty(0, 0, 2, 0, 0, 0)
        """[layers, rows, keys and values, heads, t, d]."""
        self._at = torch.zeros(0, dtype=torch.long)
        """[rows] where the step under way writes."""
        self._keys: tuple[Tensor, ...] = ()
        """Per layer, [rows, heads, longest, d] in the step under way: views, as are these:"""
        self._values: tuple[Tensor, ...] = ()
        self._newest_keys: tuple[Tensor, ...] = ()
        """[rows, heads, d], of the new tokens where all rows are as long."""
        self._newest_values: tuple[Tensor, ...] = ()
        self._rows = torch.zeros(0, dtype=torch.long)

    def join(self, layers: Sequence[LayerStates], *, room: int) -> None:
        """One more row.

        Args:
            layers: its keys and values so far.
            room: tokens it may yet grow by.
        """
        row, length = len(self.lengths), layers[0][0].shape[2]
        self._reserve(layers, row + 1, length + room)
        for states, (key, value) in zip(self._states, layers, strict=True):
            states[row, 0, :, :length] = key[0]
            states[row, 1, :, :length] = value[0]
        self.lengths.append(length)

    def leave(self, row: int, *, spoilt: bool = False) -> None:
        """Forget one row; the last takes its place.

        Args:
            spoilt: it holds numbers that are none, which even a masked key must not have.
        """
        last = len(self.lengths) - 1
        if spoilt:
            self._states[:, row] = 0
        if row != last:
            length = self.lengths[last]
            self._states[:, row, :, :, :length] = self._states[:, last, :, :, :length]
            if spoilt:
                self._states[:, row, :, :, length:] = 0
        self.lengths[row] = self.lengths[last]
        del self.lengths[last]

    def begin_step(self) -> None:
        """Every row is about to get one more token."""
        device, count = self._states.device, len(self.lengths)
        self.longest = max(self.lengths) + 1
        self._rows = torch.arange(count, device=device)
        self._at = torch.tensor(self.lengths, device=device)
        seen = self._states[:, :count, :, :, : self.longest]
        self._keys, self._values = seen[:, :, 0].unbind(), seen[:, :, 1].unbind()
        self.visible = None
        if min(self.lengths) + 1 == self.longest:
            newest = seen[..., -1, :]
            self._newest_keys, self._newest_values = newest[:, :, 0].unbind(), newest[:, :, 1].unbind()
        else:
            places = torch.arange(self.longest, device=device)
            self.visible = (places <= self._at[:, None])[:, None, None]
        self.lengths = [length + 1 for length in self.lengths]

    def put(self, layer: int, key: Tensor, value: Tensor) -> LayerStates:
        """Keep a layer's keys and values of the new tokens.

        Args:
            key, value: each [rows, heads, d].

        Returns:
            keys and values of the rows so far, each [rows, heads, longest, d]: views, no copies.
        """
        if self.visible is None:
            # all rows are as long: two copies, no table of places
            self._newest_keys[layer].copy_(key)
            self._newest_values[layer].copy_(value)
        else:
            self._states[layer][self._rows, :, :, self._at] = torch.stack([key, value], dim=1)
        return self._keys[layer], self._values[layer]

    def _reserve(self, layers: Sequence[LayerStates], rows: int, tokens: int) -> None:
        key = layers[0][0]
        _, had, _, _, length, _ = self._states.shape
        if rows <= had and tokens <= length:
            return
        rows = max(had, rows if rows <= 1 else 2 * (rows - 1))
        tokens = max(length, -(-tokens // _TOKENS) * _TOKENS)
        grown = key.new_zeros(len(layers), rows, 2, key.shape[1], tokens, key.shape[3])
        if had:
            grown[:, :had, :, :, :length] = self._states
        self._states = grown


class StockCache(Cache):
    """The rows as a stock transformers model takes them, for a step of one token per row."""

    def __init__(self, rows: KeyValueRows, layers: int) -> None:
        super().__init__(layers=[_StockLayer(rows, layer) for layer in range(layers)])


class _StockLayer(DynamicLayer):
    def __init__(self, rows: KeyValueRows, layer: int) -> None:
        super().__init__()
        self._rows, self._layer = rows, layer

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        return self._rows.put(self._layer, key_states[:, :, 0], value_states[:, :, 0])

    def get_seq_length(self) -> int:
        return self._rows.longest - 1
