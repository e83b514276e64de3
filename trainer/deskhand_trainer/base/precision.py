"""Multiplying in bfloat16 where that is faster; weights, moments and sums stay float32."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, TypeAlias

import torch

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
""""auto": bfloat16 where the processor has matrix units for it (AMX), float32 elsewhere."""


def resolved(precision: Precision) -> torch.dtype:
    """What multiplications are done in on this machine."""
    if precision == "auto":
        return torch.bfloat16 if torch.cpu.get_capabilities().get("amx_bf16") else torch.float32
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def multiplying(dtype: torch.dtype) -> AbstractContextManager[object]:
    """Within it, forward passes multiply in `dtype`."""
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is torch.bfloat16)
