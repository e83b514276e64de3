"""Low-rank adapters on the language model (LoRA, arXiv 2106.09685), by peft: W + (α/r)·B·A.

A model with adapters acts, clones and is written as the plain model that it comes to.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.model_files import ADAPTERS_WEIGHTS

LAYERS = r"model\.language_model\.layers\..*\.(q|k|v|o|gate|up|down)_proj"
ALPHA = 2
"""α over r."""
_BASE = ".base_layer"
_WRAPPED = "base_model.model."
"""What peft writes before a name."""


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


def with_kept_adapters(model: nn.Module, folder: Path) -> nn.Module:
    """The plain model that this one comes to with the adapters of a folder, as peft writes them.

    Args:
        model: their base; it is changed.

    Raises:
        ModelFilesError: what they do is more than other weights of their base.
        ValueError, KeyError, TypeError, RuntimeError: they are for another one, or damaged.
        ModuleNotFoundError: peft is not installed.
    """
    from peft import PEFT_TYPE_TO_TUNER_MAPPING, PeftConfig, set_peft_model_state_dict

    config = PeftConfig.from_pretrained(str(folder))
    tuner: Any = PEFT_TYPE_TO_TUNER_MAPPING[cast(Any, config.peft_type)](model, config, "default")
    kept = {
        name.removeprefix(_WRAPPED): tensor for name, tensor in load_file(folder / ADAPTERS_WEIGHTS).items()
    }
    read = set_peft_model_state_dict(model, kept)
    lacking = [name for name in read.missing_keys if ".lora_" in name]
    if wrong := [*lacking, *read.unexpected_keys]:
        raise ValueError(f"they do not fit the model: {', '.join(wrong[:3])}")
    try:
        return tuner.merge_and_unload()
    except (RuntimeError, ValueError) as error:
        raise ModelFilesError(
            f"the adapters in {folder} come to no plain model ({error}): train some without that, or serve "
            "them with their base behind an OpenAI-compatible endpoint and use the policy 'openai'"
        ) from error


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


def plain_copy(model: nn.Module) -> nn.Module:
    """A copy without adapters that computes the same."""
    return _merged(copy.deepcopy(model))


@torch.no_grad()
def _merged(model: nn.Module) -> nn.Module:
    """The model with its adapters added to what they are on, in place."""
    for name, layer in adapted(model).items():
        layer.base_layer.weight += _difference(layer)
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, layer.base_layer)
    return model


def _difference(layer: Any) -> Tensor:
    (adapter,) = layer.active_adapters
    return cast(Tensor, layer.get_delta_weight(adapter))
