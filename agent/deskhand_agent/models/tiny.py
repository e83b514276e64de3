"""The tiny model: a Qwen3-VL (or Qwen2.5-VL) built from its config, small enough to learn on two CPU cores.

Plain transformers classes, so `from_pretrained` loads what `save_pretrained` wrote. What differs from a
released model is size, vocabulary and the start of learning; without the latter vision stays at chance:
positions of patches and of coordinate numbers begin as sinusoids, and blank background is about zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from deskhand_agent.models.vocabulary import (
    END,
    IMAGE_PAD,
    PAD,
    VIDEO_PAD,
    VISION_END,
    VISION_START,
    Vocabulary,
    coordinate_numbers,
)

VisionLanguageModel = Qwen3VLForConditionalGeneration | Qwen2_5_VLForConditionalGeneration


@dataclass(frozen=True, kw_only=True, slots=True)
class TinyConfig:
    """Sizes of a model built from scratch."""

    family: Literal["qwen3_vl", "qwen2_5_vl"] = "qwen3_vl"
    """Qwen3-VL learns better at this size: it has learned absolute positions of patches."""
    patch_px: int = 16
    """Side of a vision patch: 16 imitates a few tasks soonest, 8 to 10 read small text and cost four times as
    much."""
    merge: int = 2
    """Patches per side that become one token of the language model."""
    vision_width: int = 64
    vision_depth: int = 2
    vision_heads: int = 4
    text_width: int = 96
    text_depth: int = 2
    text_heads: int = 4
    text_mlp: int = 192
    """Inner width of the language model's gated MLP."""
    grid_px: int = 4
    """Coordinates are rounded to multiples of this, one token each."""
    max_side_px: int = 256
    """Coordinates end here; larger screens are scaled down to fit."""
    vocabulary: Vocabulary = "tasks"
    initializer_range: float = 0.06
    seed: int = 0
    """Of the weights."""

    def __post_init__(self) -> None:
        for name in ("vision", "text"):
            width, heads = getattr(self, f"{name}_width"), getattr(self, f"{name}_heads")
            if width % heads or (width // heads) % 4:
                raise ValueError(
                    f"{name}_width {width} must be {name}_heads {heads} times a multiple of 4 (for rotary "
                    "positions)"
                )
        if self.max_side_px % (self.patch_px * self.merge):
            raise ValueError(
                f"max_side_px {self.max_side_px} must be a multiple of patch_px x merge = "
                f"{self.patch_px * self.merge}"
            )


def build_model(config: TinyConfig, tokenizer: PreTrainedTokenizerFast) -> VisionLanguageModel:
    """A model with fresh weights, the same for the same config; the global random state is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if config.family == "qwen3_vl":
            model: VisionLanguageModel = Qwen3VLForConditionalGeneration(_qwen3(config, tokenizer))
        else:
            model = Qwen2_5_VLForConditionalGeneration(_qwen25(config, tokenizer))
        _start_positions(model, config, tokenizer)
    return model.eval()


def _qwen3(config: TinyConfig, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLConfig:
    side = config.max_side_px // config.patch_px
    return Qwen3VLConfig(
        vision_config={
            "depth": config.vision_depth,
            "hidden_size": config.vision_width,
            "intermediate_size": 4 * config.vision_width,
            "num_heads": config.vision_heads,
            "patch_size": config.patch_px,
            "temporal_patch_size": 1,
            "spatial_merge_size": config.merge,
            "out_hidden_size": config.text_width,
            "num_position_embeddings": side * side,
            "deepstack_visual_indexes": [],
            "initializer_range": config.initializer_range,
        },
        text_config=_text(config, tokenizer),
        **_token_ids(tokenizer),
    )


def _qwen25(config: TinyConfig, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLConfig:
    return Qwen2_5_VLConfig(
        vision_config={
            "depth": config.vision_depth,
            "hidden_size": config.vision_width,
            "intermediate_size": 4 * config.vision_width,
            "num_heads": config.vision_heads,
            "patch_size": config.patch_px,
            "temporal_patch_size": 1,
            "spatial_merge_size": config.merge,
            "out_hidden_size": config.text_width,
            "window_size": config.max_side_px,
            "fullatt_block_indexes": list(range(config.vision_depth)),
            "initializer_range": config.initializer_range,
        },
        text_config=_text(config, tokenizer),
        **_token_ids(tokenizer),
    )


def _text(config: TinyConfig, tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    head = config.text_width // config.text_heads
    third = head // 2 // 3
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": config.text_width,
        "intermediate_size": config.text_mlp,
        "num_hidden_layers": config.text_depth,
        "num_attention_heads": config.text_heads,
        "num_key_value_heads": config.text_heads,
        "head_dim": head,
        "max_position_embeddings": 4096,
        "initializer_range": config.initializer_range,
        "tie_word_embeddings": False,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "mrope_section": [head // 2 - 2 * third, third, third],
            "mrope_interleaved": True,
        },
        "pad_token_id": tokenizer.convert_tokens_to_ids(PAD),
        "eos_token_id": tokenizer.convert_tokens_to_ids(END),
        "bos_token_id": None,
    }


def _token_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    return {
        "image_token_id": tokenizer.convert_tokens_to_ids(IMAGE_PAD),
        "video_token_id": tokenizer.convert_tokens_to_ids(VIDEO_PAD),
        "vision_start_token_id": tokenizer.convert_tokens_to_ids(VISION_START),
        "vision_end_token_id": tokenizer.convert_tokens_to_ids(VISION_END),
        "tie_word_embeddings": False,
    }


@torch.no_grad()
def _start_positions(
    model: VisionLanguageModel, config: TinyConfig, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Start patch positions and coordinate numbers as sinusoids: near ones are alike from the first step."""
    parts: Any = model
    if config.family == "qwen3_vl":
        side = config.max_side_px // config.patch_px
        half = config.vision_width // 2
        line = sinusoids(torch.arange(side) + 0.5, half, longest=2.0 * side, shortest=5.0)
        grid = torch.cat([line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)], dim=-1)
        parts.model.visual.pos_embed.weight.copy_(1.4 * grid.reshape(side * side, 2 * half))
    numbers = coordinate_numbers(config.grid_px, config.max_side_px)
    rows = tokenizer.convert_tokens_to_ids([str(n) for n in numbers])
    waves = sinusoids(
        torch.tensor(numbers, dtype=torch.float32),
        config.text_width,
        longest=2.0 * config.max_side_px,
        shortest=4.0 * config.grid_px,
    )
    scale = config.initializer_range * math.sqrt(2.0)
    parts.get_input_embeddings().weight[rows] = scale * waves
    parts.lm_head.weight[rows] = scale * waves


def sinusoids(at: Tensor, width: int, *, longest: float, shortest: float) -> Tensor:
    """Sine and cosine rows at geometrically spaced wavelengths.

    Args:
        at: [n] positions.
        width: numbers per row; even.
        longest, shortest: wavelengths, in the unit of `at`.

    Returns:
        [n, width], entries in [-1, 1].
    """
    waves = torch.logspace(math.log10(longest), math.log10(shortest), width // 2)
    angle = 2 * math.pi * at[:, None].float() / waves
    return torch.cat([angle.sin(), angle.cos()], dim=-1)
