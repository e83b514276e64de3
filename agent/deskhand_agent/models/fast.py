"""The forward pass of a Qwen3-VL without the overhead that dominates at tiny sizes.

The stock pass runs vision attention one picture at a time, embeds patches with a 3-D convolution and spends
more time in Python than in arithmetic when the model is small. These functions read the same modules'
parameters and give the same numbers (held to 1e-5 by a test), for pictures of one size at a time.
`models.forward` decides when they may be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import Qwen3VLForConditionalGeneration
from transformers.models.qwen3_vl.modeling_qwen3_vl import (
    Qwen3VLTextDecoderLayer,
    Qwen3VLTextModel,
    Qwen3VLVisionBlock,
    Qwen3VLVisionModel,
)
from transformers.vision_utils import (
    get_vision_interpolation_indices_and_weights,
    get_vision_position_ids,
)

from deskhand_agent.models.activations import activated
from deskhand_agent.models.apart import attend_apart

LayerCache = tuple[Tensor, Tensor]
"""Keys and values of one layer, each [b, heads, t, d]."""
_COMPILED = "deskhand_compiled"
"""Attribute of a layer that `compile_layers` was asked for."""
_Attend = Callable[[Any, Tensor, Tensor, Tensor], Tensor]
"""From a layer's attention module and its queries, keys and values to what they come to."""


def encode_images(
    visual: Qwen3VLVisionModel,
    patches: Tensor,
    rows: int,
    columns: int,
    *,
    window: slice | None = None,
) -> tuple[Tensor, Tensor]:
    """Vision tower for pictures of one size.

    Args:
        patches: [b, rows * columns, patch features], merge order.
        rows, columns: patches per side.
        window: the patches given are only these of the whole picture, at their places in it.

    Returns:
        last layer [b, rows * columns, vision width], and merged tokens
        [b, rows * columns / merge², text width].
    """
    indices, weights, positions = _vision_grid(
        rows, columns, visual.num_grid_per_side, int(visual.spatial_merge_size), patches.device
    )
    if window is not None:
        indices, weights, positions = indices[window], weights[window], positions[window]
    convolution = visual.patch_embed.proj
    hidden = F.linear(patches.to(convolution.weight.dtype), convolution.weight.flatten(1), convolution.bias)
    hidden = hidden + (visual.pos_embed(indices) * weights[:, :, None]).sum(1)
    cos, sin = visual.rotary_pos_emb(hidden, positions)
    cos, sin = cos[None, None].float(), _signed(sin[None, None].float())
    for block in visual.blocks:
        hidden = _through(_vision_block, cast(Qwen3VLVisionBlock, block), hidden, cos, sin)
    return hidden, visual.merger(hidden.flatten(0, 1)).view(
        hidden.shape[0], -1, visual.config.out_hidden_size
    )


def decode_text(
    text: Qwen3VLTextModel,
    embeddings: Tensor,
    positions: Tensor,
    mask: Tensor | None,
    cache: Sequence[LayerCache] | None = None,
    *,
    alone: Sequence[int] | None = None,
    seen: Sequence[Tensor | None] | None = None,
    last: Sequence[int] | None = None,
    keep: bool = True,
) -> tuple[Tensor, list[LayerCache]]:
    """Language model over embeddings.

    Args:
        embeddings: [b, t, width].
        positions: [3, b, t] rotary positions (time, height, width).
        mask: bool, True where query may look at key, broadcastable to [b, heads, t, cached + t]; None: causal
            (then there may be no cache).
        cache: keys and values of what came before.
        alone: lengths of the sequences that one row is made of, each of which sees itself alone (then there
            may be neither mask nor cache, and none is grown).
        seen: by the tokens of each sequence alone, as of `attend_apart`.
        last: of each sequence alone, or of each row where none are, how many of its last tokens are wanted;
            None: all. The last layer computes keys and values only for the others.
        keep: grow the cache; one that is given always grows.

    Returns:
        hidden states after the last norm [b, t, width], of what is wanted, and the grown cache.
    """
    grown: list[LayerCache] = []
    lengths = alone or [embeddings.shape[1]]
    fewer = last is not None and sum(last) < sum(lengths)
    wanted = None
    if last is not None and fewer:
        wanted = last_places([*accumulate(lengths)], last).to(embeddings.device)

    def attend(attention: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        grouped = attention.num_key_value_groups > 1

        def own(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            told: dict[str, Any] = {"scale": attention.scaling, "grouped": grouped}
            return _attend(query, key, value, mask=mask, causal=mask is None, **told)

        if alone is not None:
            asking = last if query.shape[2] < key.shape[2] else None
            return attend_apart(query, key, value, alone, own, last=asking, seen=seen)
        if cache is not None:
            kept = cache[len(grown)]
            key, value = torch.cat([kept[0], key], dim=2), torch.cat([kept[1], value], dim=2)
        if keep or cache is not None:
            grown.append((key, value))
        looked_at = None if mask is None else mask[..., -query.shape[2] :, :]
        return own(query, key, value, looked_at)

    return _decode(text, embeddings, positions, attend, wanted), grown


def last_places(ends: Sequence[int], last: Sequence[int]) -> Tensor:
    """Places of so many last tokens of sequences that end before the places `ends`, one after another."""
    return torch.cat([torch.arange(end - count, end) for end, count in zip(ends, last, strict=True)])


def decode_behind(
    text: Qwen3VLTextModel,
    embeddings: Tensor,
    positions: Tensor,
    cache: Sequence[LayerCache],
    real: Tensor,
    *,
    watch: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """Language model over rows that see a prefix each, shared by as many rows in a row, and themselves.

    Args:
        embeddings: [prefixes x rows behind each, t, width].
        positions: [3, rows, t] rotary positions.
        cache: keys and values of the prefixes, [prefixes, heads, p, d].
        real: bool [prefixes, p], False at padding.
        watch: layer and head whose attention is returned.

    Returns:
        hidden states after the last norm [rows, t, width], and the watched attention on the prefix
        [rows, t, p].
    """
    layer = 0
    watched = embeddings.new_zeros(())

    def attend(attention: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        nonlocal layer, watched
        groups = attention.num_key_value_groups
        states = [each.repeat_interleave(groups, dim=1) for each in (key, value, *cache[layer])]
        mixed, weights = _attend_behind(query * attention.scaling, *states, real=real)
        if layer == watch[0]:
            watched = weights[:, watch[1]].reshape(query.shape[0], query.shape[2], -1)
        layer += 1
        return mixed

    return _decode(text, embeddings, positions, attend), watched


def _decode(
    text: Qwen3VLTextModel,
    embeddings: Tensor,
    positions: Tensor,
    attend: _Attend,
    wanted: Tensor | None = None,
) -> Tensor:
    """Hidden states after the last norm, of the tokens at the places `wanted` (None: of all)."""
    hidden = embeddings
    cos, sin = text.rotary_emb(hidden, positions)
    cos, sin = cos[:, None], _signed(sin[:, None])
    final = len(text.layers) - 1
    for number, each in enumerate(text.layers):
        layer, going_on = cast(Qwen3VLTextDecoderLayer, each), wanted if number == final else None
        hidden = _through(_decoder_layer, layer, hidden, cos, sin, attend, going_on)
    return text.norm(hidden)


def _through(work: Callable[..., Tensor], layer: Any, *given: Any) -> Tensor:
    """A layer's output; what leads to it is kept for the gradient, or computed again where it says so."""
    if layer.gradient_checkpointing and torch.is_grad_enabled():
        return cast(Tensor, checkpoint(work, layer, *given, use_reentrant=False, preserve_rng_state=False))
    return work(layer, *given)


def _decoder_layer(
    layer: Qwen3VLTextDecoderLayer,
    hidden: Tensor,
    cos: Tensor,
    sin: Tensor,
    attend: _Attend,
    wanted: Tensor | None = None,
) -> Tensor:
    """What comes out at the places `wanted` (None: everywhere); the others are attended to."""
    attention: Any = layer.self_attn
    compiled = getattr(layer, _COMPILED, False) and torch.is_grad_enabled()
    if wanted is None:
        query, key, value = (_compiled(_asking) if compiled else _asking)(layer, hidden, cos, sin)
    else:
        normed = _normed(layer.input_layernorm, hidden)
        hidden = hidden[:, wanted]
        own = attention.q_proj(normed[:, wanted])
        projected = own, *_projected(normed, attention.k_proj, attention.v_proj)
        query, key, value = _placed(attention, projected, (cos[:, :, wanted], sin[:, :, wanted]), (cos, sin))
    mixed = attend(attention, query, key, value)
    return (_compiled(_feeding) if compiled else _feeding)(layer, hidden, mixed)


def _asking(
    layer: Qwen3VLTextDecoderLayer, hidden: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What comes before attention: queries, keys and values of everything, each [b, heads, t, d]."""
    attention: Any = layer.self_attn
    normed = _normed(layer.input_layernorm, hidden)
    projected = _projected(normed, attention.q_proj, attention.k_proj, attention.v_proj)
    return _placed(attention, projected, (cos, sin), (cos, sin))


def _placed(
    attention: Any, projected: Sequence[Tensor], own: tuple[Tensor, Tensor], all_of: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Heads apart, and turned to the places of the queries and of the keys."""
    query, key, value = (
        states.unflatten(-1, (-1, attention.head_dim)).transpose(1, 2) for states in projected
    )
    query = _rotated(_normed(attention.q_norm, query), *own)
    return query, _rotated(_normed(attention.k_norm, key), *all_of), value


def _feeding(layer: Qwen3VLTextDecoderLayer, hidden: Tensor, mixed: Tensor) -> Tensor:
    """What comes after attention."""
    hidden = hidden + layer.self_attn.o_proj(mixed.transpose(1, 2).flatten(2))
    mlp: Any = layer.mlp
    gate, up = _projected(_normed(layer.post_attention_layernorm, hidden), mlp.gate_proj, mlp.up_proj)
    return hidden + mlp.down_proj(mlp.act_fn(gate) * up)


def compile_layers(model: Qwen3VLForConditionalGeneration) -> None:
    """Let `torch.compile` join what is around attention in each layer of the language model, where gradients
    are needed: attention itself differs with every batch. All layers share what is compiled, once for short
    and once for long batches."""
    for layer in model.model.language_model.layers:
        setattr(layer, _COMPILED, True)


@cache
def _compiled(work: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(work, dynamic=True)


def _normed(norm: Any, states: Tensor) -> Tensor:
    """Root mean square norm over the last dimension."""
    return F.rms_norm(states.float(), norm.weight.shape, norm.weight, norm.variance_epsilon)


def _projected(states: Tensor, *layers: Any) -> Sequence[Tensor]:
    """What several linear layers without bias make of the same states: as one where gradients are needed."""
    if not torch.is_grad_enabled() or any(type(layer) is not nn.Linear for layer in layers):
        return [layer(states) for layer in layers]
    joined = F.linear(states, torch.cat([layer.weight for layer in layers]))
    return joined.split([layer.out_features for layer in layers], dim=-1)


def supports(model: object) -> bool:
    """Whether these functions compute what `model` computes."""
    return (
        isinstance(model, Qwen3VLForConditionalGeneration)
        and not cast(Any, model.config.vision_config).deepstack_visual_indexes
        and not cast(Any, model.config.text_config).attention_bias
        and next(model.parameters()).device.type in ("cpu", "cuda")
        and next(model.parameters()).dtype == torch.float32
        # where a layer's weights are shared out among processes, only its own pass gets them together
        and type(model.model.language_model.layers[0].input_layernorm.weight) is nn.Parameter
    )


def _vision_block(block: Qwen3VLVisionBlock, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    attention: Any = block.attn
    batch, count, width = hidden.shape
    heads = attention.num_heads
    qkv = attention.qkv(block.norm1(hidden)).view(batch, count, 3, heads, width // heads)
    query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    query, key = _rotated(query, cos, sin), _rotated(key, cos, sin)
    mixed = _attend(query, key, value, scale=attention.scaling)
    hidden = hidden + attention.proj(mixed.transpose(1, 2).reshape(batch, count, width))
    mlp: Any = block.mlp
    return hidden + mlp.linear_fc2(activated(mlp.act_fn, mlp.linear_fc1(block.norm2(hidden))))


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float,
    grouped: bool = False,
) -> Tensor:
    """Attention, on a processor in float32 also where the rest is in bfloat16: its backward pass is twice as
    fast so. On a GPU in what the values are in.

    Causal with fewer queries than keys, they are the last ones.
    """
    asking, asked, device = query.shape[2], key.shape[2], query.device
    if causal and asking < asked:
        mask = torch.ones(asking, asked, dtype=torch.bool, device=device).tril(asked - asking)
        causal = False
    precision = torch.float32 if device.type == "cpu" else value.dtype
    with torch.autocast(device.type, enabled=False):
        return F.scaled_dot_product_attention(
            query.to(precision),
            key.to(precision),
            value.to(precision),
            attn_mask=mask,
            is_causal=causal,
            scale=scale,
            enable_gqa=grouped,
        )


def _attend_behind(
    query: Tensor, key: Tensor, value: Tensor, before_key: Tensor, before_value: Tensor, *, real: Tensor
) -> tuple[Tensor, Tensor]:
    """Attention of rows to the prefix they share and to themselves, without a copy of the prefix for each.

    Args:
        query: [rows, heads, t, d], scaled.
        before_key, before_value: [prefixes, heads, p, d].

    Returns:
        [rows, heads, t, d], and the weights on the prefix [prefixes, heads, rows behind each x t, p].
    """
    rows, heads, count, _ = query.shape
    prefixes, _, length, _ = before_key.shape

    def folded(states: Tensor) -> Tensor:
        """Rows behind one prefix as one."""
        return states.view(prefixes, -1, heads, count, states.shape[-1]).transpose(1, 2).flatten(2, 3)

    def apart(states: Tensor) -> Tensor:
        opened = states.view(prefixes, heads, -1, count, states.shape[-1]).transpose(1, 2)
        return opened.reshape(rows, heads, count, states.shape[-1])

    before = folded(query) @ before_key.transpose(2, 3)
    own = query @ key.transpose(2, 3)
    later = torch.ones(count, count, dtype=torch.bool, device=query.device).triu(1)
    scores = torch.cat(
        [
            before.masked_fill(~real[:, None, None], float("-inf")),
            folded(own.masked_fill(later, float("-inf"))),
        ],
        dim=-1,
    )
    on_before, on_own = scores.softmax(-1).split([length, count], dim=-1)
    return apart(on_before @ before_value) + apart(on_own) @ value, on_before


def _signed(sin: Tensor) -> Tensor:
    """Sines for `_rotated`: the first half negative."""
    half = sin.shape[-1] // 2
    return torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)


def _rotated(states: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Rotary embedding whose pairs are half a width apart."""
    return torch.addcmul(states * cos, states.roll(states.shape[-1] // 2, -1), signed_sin)


@cache
def _vision_grid(
    rows: int, columns: int, side: int, merge: int, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    grid = torch.tensor([[1, rows, columns]])
    indices, weights = get_vision_interpolation_indices_and_weights(
        grid, num_grid_per_side=side, mode="bilinear", align_corners=True, spatial_merge_size=merge, kwargs={}
    )
    positions = get_vision_position_ids(grid, merge, kwargs={})
    return indices.to(device), weights.to(device), positions.to(device)
