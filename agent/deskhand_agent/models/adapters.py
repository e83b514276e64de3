"""Low-rank adapters on the language model (LoRA, arXiv 2106.09685), by peft: W + (α/r)·B·A.

A model with adapters acts, clones and is written as the plain model that it comes to.
"""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from torch import Tensor, nn

LAYERS = r"model\.language_model\.layers\..*\.(q|k|v|o|gate|up|down)_proj"
ALPHA = 2
"""α over r."""
_BASE = ".base_layer"


def add_adapters(model: nn.Module, rank: int) -> None:
    """Put fresh adapters on the language model's layers, in place; of the model they alone are trained.

    At first they change nothing: B is zero.

    Raises:
        ModuleNotFoundError: peft is not installed.
    """
    from peft import LoraConfig, inject_adapter_in_model

    config = LoraConfig(r=rank, lora_alpha=ALPHA * rank, target_modules=LAYERS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(rank)
        inject_adapter_in_model(config, model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_" in name)


def adapted(model: nn.Module) -> dict[str, Any]:
    """The layers that have adapters, by name."""
    return {name: layer for name, layer in model.named_modules() if hasattr(layer, "base_layer")}


@torch.no_grad()
def plain_weights(model: nn.Module) -> dict[str, Tensor]:
    """The state of the plain model this one comes to; parts without adapters are not copied."""
    layers = adapted(model)
    found: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        owner, _, leaf = name.rpartition(".")
        if ".lora_" in name:
            continue
        layer = layers.get(owner.removesuffix(_BASE))
        if layer is not None and leaf == "weight":
            tensor = tensor + _difference(layer)
        found[name.replace(_BASE, "")] = tensor
    return found


@torch.no_grad()
def plain_copy(model: nn.Module) -> nn.Module:
    """A copy without adapters that computes the same."""
    copied = copy.deepcopy(model)
    for name, layer in adapted(copied).items():
        layer.base_layer.weight += _difference(layer)
        owner, _, leaf = name.rpartition(".")
        setattr(copied.get_submodule(owner), leaf, layer.base_layer)
    return copied


def _difference(layer: Any) -> Tensor:
    (adapter,) = layer.active_adapters
    return cast(Tensor, layer.get_delta_weight(adapter))
