"""Replies token by token: prompts join as rows, every step gives each row one more token, rows leave.

A prompt is read alone, not as part of a batch: on a processor that costs the same, nothing is padded, one
that does not fit harms no other, and it can join rows that are half way. Where `fast.supports` the model,
steps are those of `fast_step` and what prompts seen lately came to is used again; elsewhere the stock model
computes, in the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from deskhand_agent.models import fast
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.fast_step import FastStep
from deskhand_agent.models.features import FeatureCache
from deskhand_agent.models.forward import TokenSequence, collate, forward, rotary_positions
from deskhand_agent.models.key_values import KeyValueRows, LayerStates, StockCache
from deskhand_agent.models.prefixes import PrefixCache, prompt_codes
from deskhand_sandbox.types import Image


class Decoder:
    """Rows under way on one model; for one thread at a time."""

    def __init__(
        self, bundle: ModelBundle, *, remember_bytes: int, features: FeatureCache | None = None
    ) -> None:
        """
        Args:
            features: of a vision tower that stays as it is whatever becomes of the rest; None: its own.
            remember_bytes: for what prompts seen lately came to: as much for their pictures as for their keys
                and values; 0: nothing is remembered.
        """
        self._bundle = bundle
        self._rows = KeyValueRows()
        self._next: list[int] = []
        """Per row: rotary position of its next token."""
        self._lasting = features is not None
        self.features = features or FeatureCache(bundle, max_bytes=remember_bytes)
        self.meanwhile: Callable[[], bool] = lambda: False
        """Work for the time in which another thread encodes a picture, as of `FeatureCache.of`."""
        self._prefixes = PrefixCache(remember_bytes)
        self._step: FastStep | None = None
        self._fast = False
        """Whether the rows are read by `fast`: as it was found when the last one joined."""
        self.reused_tokens = 0
        """Prompt tokens that needed no computing, since it was made."""

    @property
    def rows(self) -> int:
        return len(self._next)

    def forget(self) -> None:
        """The weights have changed: nothing computed with the old ones is used any more, rows included."""
        self._rows, self._next = KeyValueRows(), []
        if not self._lasting:
            self.features.clear()
        self._prefixes.clear()
        self._step = None

    @torch.no_grad()
    def join(self, sequence: TokenSequence, *, room: int) -> Tensor:
        """Read a prompt as one more row, the last.

        Args:
            room: tokens its reply may have.

        Returns:
            [width], the hidden state of its last token.

        Raises:
            InferenceError: a picture is unreadable or does not fit its placeholder run.
        """
        self._fast = fast.supports(self._bundle.model)
        hidden, layers, following = self._read(sequence) if self._fast else self._read_stock(sequence)
        self._rows.join(layers, room=room)
        self._next.append(following)
        return hidden

    @torch.no_grad()
    def step(self, ids: list[int]) -> Tensor:
        """One more token per row.

        Args:
            ids: the tokens drawn last, row by row.

        Returns:
            [rows, width] hidden states at them.
        """
        model: Any = self._bundle.model
        device = self._bundle.device
        tokens = torch.tensor(ids, device=device)
        positions = torch.tensor(self._next, device=device)
        self._rows.begin_step()
        self._next = [position + 1 for position in self._next]
        if not self._fast:
            return self._step_stock(tokens, positions)
        if self._step is None:
            self._step = FastStep(model.model.language_model)
        return self._step(model.get_input_embeddings()(tokens), positions, self._rows)

    def leave(self, row: int, *, spoilt: bool = False) -> None:
        """A row has its reply; the last takes its place.

        Args:
            spoilt: it came to numbers that are none.
        """
        self._rows.leave(row, spoilt=spoilt)
        self._next[row] = self._next[-1]
        del self._next[-1]

    def _read(self, sequence: TokenSequence) -> tuple[Tensor, list[LayerStates], int]:
        bundle, model = self._bundle, self._model
        pixels = [bundle.cache.pixels(image) for image in sequence.images]
        patch, merge = bundle.images.patch_px, bundle.images.merge
        grids = [(each.shape[0] // patch, each.shape[1] // patch) for each in pixels]
        positions, following = rotary_positions(bundle, sequence.ids, grids)
        image_id = int(model.config.image_token_id)
        counts = [rows * columns // merge**2 for rows, columns in grids]
        named = [(image.digest, count) for image, count in zip(sequence.images, counts, strict=True)]
        codes = prompt_codes(sequence.ids, image_id, named)
        known, before = self._prefixes.longest(codes)
        self.reused_tokens += known
        ids = torch.tensor(sequence.ids[known:], device=bundle.device)
        embeddings = model.get_input_embeddings()(ids)[None]
        seen = ids == image_id
        if bool(seen.any()):
            skipped = sequence.ids[:known].count(image_id)
            embeddings[0, seen] = self._pictures(sequence.images, counts, skipped).to(embeddings.dtype)
        mask = None
        if known:
            mask = torch.ones(len(ids), known + len(ids), dtype=torch.bool, device=ids.device).tril(known)
        places = positions[:, None, known:].to(ids.device)
        hidden, layers = fast.decode_text(
            model.model.language_model, embeddings, places, mask, before or None, last=[1]
        )
        if bool(hidden[0, -1].isfinite().all()):
            self._prefixes.keep(codes, layers)
        return hidden[0, -1], layers, following

    def _pictures(self, images: tuple[Image, ...], counts: list[int], skipped: int) -> Tensor:
        """Features of the pictures' tokens but the first, [tokens, width]."""
        parts: list[Tensor] = []
        for image, count in zip(images, counts, strict=True):
            if skipped < count:
                (levels,), _ = self.features.of([image], meanwhile=self.meanwhile)
                parts.append(levels[0, skipped:])
            skipped = max(0, skipped - count)
        return torch.cat(parts)

    def _read_stock(self, sequence: TokenSequence) -> tuple[Tensor, list[LayerStates], int]:
        batch = collate(self._bundle, [sequence])
        hidden, cache = forward(self._bundle, batch, cache=True)
        assert isinstance(cache, DynamicCache)
        layers: list[Any] = list(cache.layers)
        return hidden[0, -1], [(each.keys, each.values) for each in layers], int(batch.next_positions[0])

    def _step_stock(self, tokens: Tensor, positions: Tensor) -> Tensor:
        text = self._model.config.text_config
        visible = self._rows.visible
        out = self._model.model(
            input_ids=tokens[:, None],
            attention_mask=None if visible is None else visible[:, 0, 0].long(),
            position_ids=positions[None, :, None].expand(3, -1, 1),
            past_key_values=StockCache(self._rows, text.num_hidden_layers),
            use_cache=True,
        )
        return out.last_hidden_state[:, 0]

    @property
    def _model(self) -> Any:
        return self._bundle.model
