"""Where a model computes, and in which precision it multiplies; weights, moments and sums stay float32."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import torch

UNITS = ("amx_bf16", "avx512_bf16")
"""What makes bfloat16 faster on a processor than float32."""
Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
""""auto": bfloat16 on a GPU and on a processor with one of `UNITS`, float32 elsewhere."""
Device: TypeAlias = Literal["auto", "cpu", "cuda"]
""""auto": the GPU where there is one."""


def resolved(precision: Precision, device: str = "cpu", *, units: bool = True) -> torch.dtype:
    """What multiplications are done in.

    Args:
        device: its type.
        units: whether "auto" goes by what the processor has too.
    """
    import torch

    if precision == "auto":
        found = torch.cpu.get_capabilities() if units else {}
        has = device != "cpu" or any(found.get(unit) for unit in UNITS)
        return torch.bfloat16 if has else torch.float32
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def multiplying(dtype: torch.dtype, device: str = "cpu") -> AbstractContextManager[object]:
    """Within it, forward passes on a type of device multiply in `dtype`."""
    import torch

    return torch.autocast(device, dtype=torch.bfloat16, enabled=dtype is torch.bfloat16)


def device_named(choice: Device) -> torch.device:
    """The device a choice comes to here.

    On a GPU attention is left to others than cuDNN, which plans anew for every shape it meets: replies are of
    all lengths, and it took most of an imitating step (measured with a tiny model on an H200, torch 2.11).

    Raises:
        ValueError: a GPU is asked for, and PyTorch finds none.
    """
    import torch

    found = torch.cuda.is_available()
    if choice == "cuda" and not found:
        raise ValueError("PyTorch finds no CUDA device here: take device=cpu, or a build of torch with CUDA")
    if not found or choice == "cpu":
        return torch.device("cpu")
    torch.backends.cuda.enable_cudnn_sdp(False)
    return torch.device("cuda")
