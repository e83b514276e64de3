"""A model's weights, gradients and moments shared out among ranks: FSDP2 (arXiv:2304.11277).

Each block of the text and of the vision tower is whole only while it computes; what is left (embeddings,
norms, what joins the two towers) stays whole from the beginning of a pass to the end of its gradient.
Gradients are summed over the ranks, not averaged: every rank's loss has the weights of the whole minibatch.
The critic is small, and each rank has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_trainer.checkpoints import take_up_moments


def hollow(bundle: ModelBundle) -> ModelBundle:
    """The bundle with a plain model that has shapes and no weights, to tell other ranks of."""
    with torch.device("meta"):
        model: Any = type(bundle.model)(cast(Any, bundle.model.config))
    return bundle.around(model.to(next(bundle.model.parameters()).dtype))


def filled(bundle: ModelBundle) -> ModelBundle:
    """A hollow bundle with room for weights, which no rank touches but for its own part of them."""
    model: Any = bundle.model
    model.to_empty(device="cpu")
    model.tie_weights()
    return bundle


def shard(root: nn.Module, model: Any, *, device: torch.device, size: int) -> None:
    """Share out a model's weights among the ranks, with rank 0's values; every rank at once.

    Args:
        root: whose `forward` is every pass of the model.
        model: a Qwen VL within it; where its vision tower is not trained, each rank keeps all of that.
        device: this rank's.
        size: how many ranks there are.
    """
    visual, text = model.model.visual, model.model.language_model
    given = {name: t.detach() for name, t in _named(root)}
    mesh = init_device_mesh(device.type, (size,))
    trained = any(p.requires_grad for p in visual.parameters())
    for block in (*(visual.blocks if trained else ()), *text.layers):
        fully_shard(block, mesh=mesh)
    kept = set[nn.Parameter]() if trained else set(visual.parameters())
    fully_shard(root, mesh=mesh, ignored_params=kept)
    visual.to(device)
    for module in root.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            # gloo has no reduction that multiplies
            module.set_force_sum_reduction_for_comms(True)
    root.register_forward_hook(_let_go)
    place(given, dict(_named(root)))


def _let_go(root: nn.Module, *_: object) -> None:
    """Of what a pass without gradients gathered: the next one would not see what was put in since."""
    if not torch.is_grad_enabled():
        cast(FSDPModule, root).reshard()


def _named(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


@torch.no_grad()
def place(values: Mapping[str, Tensor], into: Mapping[str, Tensor]) -> None:
    """Give every rank its part of rank 0's values, in place; every rank at once.

    Args:
        values: whole; on the other ranks they are not looked at.
        into: the tensors they belong in, sharded or not, in the same order on every rank.
    """
    for name, target in into.items():
        target.copy_(placed(values[name], like=target))


def placed(value: Tensor, *, like: Tensor) -> Tensor:
    """Rank 0's whole value, shared out as `like` is; every rank at once. The value itself where there is one
    process."""
    if not dist.is_initialized():
        return value
    whole = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    if dist.get_rank() == 0:
        whole.copy_(value)
    if isinstance(like, DTensor):
        return distribute_tensor(whole, like.device_mesh, like.placements)
    dist.broadcast(whole, 0)
    return whole


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor that may be sharded; every rank at once."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_tree(tree: Any, *, keep: bool) -> Any:
    """A state with its tensors whole and on the CPU; every rank at once.

    Args:
        keep: whether this rank wants it: elsewhere its tensors are let go of one by one.
    """
    if isinstance(tree, Tensor):
        found = whole(tree.detach())
        return found.cpu() if keep else None
    if isinstance(tree, Mapping):
        named = cast("Mapping[Any, Any]", tree)
        return {name: whole_tree(each, keep=keep) for name, each in named.items()}
    if isinstance(tree, list | tuple):
        found = [whole_tree(each, keep=keep) for each in cast("Sequence[Any]", tree)]
        return tuple(found) if isinstance(tree, tuple) else found
    return tree


def without_values(tree: Any) -> Any:
    """The same state with tensors that have a shape and nothing else, to tell other ranks of."""
    if isinstance(tree, Tensor):
        return tree.to("meta")
    if isinstance(tree, Mapping):
        return {name: without_values(each) for name, each in cast("Mapping[Any, Any]", tree).items()}
    if isinstance(tree, list | tuple):
        found = [without_values(each) for each in cast("Sequence[Any]", tree)]
        return tuple(found) if isinstance(tree, tuple) else found
    return tree


@torch.no_grad()
def load_moments(optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    """Take up rank 0's `optimizer.state_dict()` as the parameters are shared out (`take_up_moments`); every
    rank at once."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    moments = {
        number: {name: _moment(each, parameters[number]) for name, each in kept.items()}
        for number, kept in state["state"].items()
    }
    take_up_moments(optimizer, {"state": moments})


def _moment(value: Any, parameter: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return value
    # steps are counted in a single number, on the CPU
    like = parameter if value.shape == parameter.shape else torch.empty(value.shape, dtype=value.dtype)
    return placed(value, like=like)


def gradients(
    loss: Tensor, parameters: Sequence[nn.Parameter], *, retain_graph: bool = False, allow_unused: bool = True
) -> list[Tensor | None]:
    """What `torch.autograd.grad` gives, for sharded parameters summed over the ranks; every rank at once.

    Sharded weights hand on their gradients only by `backward`, which adds them to what is there.
    """
    del allow_unused  # what is not reached has None
    before = [p.grad for p in parameters]
    for parameter in parameters:
        parameter.grad = None
    loss.backward(retain_graph=retain_graph)
    found = [p.grad for p in parameters]
    for parameter, old in zip(parameters, before, strict=True):
        parameter.grad = old
    return found
