"""One more token per row through a Qwen3-VL's language model, with as few operations as it takes.

At tiny sizes a step costs what starting its operations costs. So the weights are laid out once for it: one
matrix for queries, keys and values and one for gate and up, each with the norm before it multiplied in, and
all stored by columns; the norms of queries and keys and the scale of attention are part of the rotation. What
is left of a norm is a division by the root of x² + nε; the root of n is in the weights too. The numbers are
those of `fast.decode_text` (held to 1e-5 by a test). Only where `fast.supports` the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deskhand_agent.models.key_values import KeyValueRows


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layer:
    """Matrices of one layer, [out, in], stored by columns."""

    qkv: Tensor
    gate_up: Tensor
    out: Tensor
    """[in, out], as is `down`: they are added to what goes round them."""
    down: Tensor


class FastStep:
    """The language model's weights as they were when this was made: make another after an update."""

    def __init__(self, text: Any) -> None:
        first = text.layers[0].self_attn
        self._dim = int(first.head_dim)
        self._heads = int(text.config.num_attention_heads)
        self._kv_heads = int(text.config.num_key_value_heads)
        self._head_floor = torch.tensor(self._dim * float(first.q_norm.variance_epsilon)).sqrt()
        norm: Tensor = text.norm.weight.detach()
        self._norm = len(norm) ** 0.5 * norm
        self._floor = torch.tensor(len(norm) * float(text.norm.variance_epsilon)).sqrt()
        frequencies, scaling = text.rotary_emb.inv_freq, float(text.rotary_emb.attention_scaling)
        # the sine of a negative angle is the negative sine that the first half of a rotation takes
        self._angles = torch.cat([-frequencies, frequencies])
        self._act: Callable[[Tensor], Tensor] = text.layers[0].mlp.act_fn
        self._layers = [_laid_out(layer) for layer in text.layers]
        self._weights = scaling * torch.stack([self._head_weights(layer.self_attn) for layer in text.layers])
        """[layers, 1, heads of queries and keys, d]: norms, √d, and the scales of rotation and attention."""
        self._rolled = self._weights.roll(self._dim // 2, -1)

    def __call__(self, hidden: Tensor, positions: Tensor, rows: KeyValueRows) -> Tensor:
        """Hidden states after the last norm.

        Args:
            hidden: [rows, width] embeddings of the tokens drawn last.
            positions: [rows] their rotary positions.
            rows: between its `begin_step` and the next.

        Returns:
            [rows, width].
        """
        cos, sin = self._rotation(positions)
        kv, count = self._kv_heads, hidden.shape[0]
        for number, (layer, c, s) in enumerate(zip(self._layers, cos.unbind(), sin.unbind(), strict=True)):
            states = F.linear(_divided(hidden, self._floor), layer.qkv).view(count, -1, self._dim)
            rotated = _divided(states[:, :-kv], self._head_floor)
            rotated = torch.addcmul(rotated * c, rotated.roll(self._dim // 2, -1), s)
            key, value = rows.put(number, rotated[:, -kv:], states[:, -kv:])
            mixed = F.scaled_dot_product_attention(
                rotated[:, :-kv, None],
                key,
                value,
                attn_mask=rows.visible,
                scale=1.0,
                enable_gqa=self._heads != kv,
            )
            hidden = _added(hidden, mixed.reshape(count, -1), layer.out)
            gate, up = F.linear(_divided(hidden, self._floor), layer.gate_up).chunk(2, dim=-1)
            hidden = _added(hidden, self._act(gate) * up, layer.down)
        return _divided(hidden, self._floor) * self._norm

    def _rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines with the heads' weights, each [layers, rows, heads, d]."""
        angles = positions[:, None, None].float() * self._angles
        return self._weights * angles.cos(), self._rolled * angles.sin()

    def _head_weights(self, attention: Any) -> Tensor:
        query = attention.q_norm.weight * attention.scaling
        every = [query.expand(self._heads, -1), attention.k_norm.weight.expand(self._kv_heads, -1)]
        return self._dim**0.5 * torch.cat(every).detach()[None]


def _laid_out(layer: Any) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    qkv = torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight])
    gate_up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
    root = qkv.shape[1] ** 0.5
    return _Layer(
        qkv=_by_columns(root * qkv * layer.input_layernorm.weight),
        gate_up=_by_columns(root * gate_up * layer.post_attention_layernorm.weight),
        out=attention.o_proj.weight.detach().t().contiguous(),
        down=mlp.down_proj.weight.detach().t().contiguous(),
    )


def _by_columns(matrix: Tensor) -> Tensor:
    return matrix.detach().t().contiguous().t()


def _divided(states: Tensor, floor: Tensor) -> Tensor:
    """A root mean square norm but for its weight and √n; floor: √(nε)."""
    return states / torch.linalg.vector_norm(states, dim=-1, keepdim=True).hypot(floor)


def _added(hidden: Tensor, states: Tensor, weight: Tensor) -> Tensor:
    """hidden + states·weight; what goes round the blocks stays float32 where they multiply in less."""
    if states.dtype is hidden.dtype:
        return torch.addmm(hidden, states, weight)
    return hidden + states @ weight
