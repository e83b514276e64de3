"""Where a model computes and how it multiplies."""

from __future__ import annotations

import pytest
import torch

from deskhand_agent.precision import device_named, multiplying, resolved


@pytest.mark.parametrize(
    ("unit", "found"),
    [("amx_bf16", torch.bfloat16), ("avx512_bf16", torch.bfloat16), ("avx2", torch.float32)],
)
def test_auto_follows_gpu_and_processor(
    monkeypatch: pytest.MonkeyPatch, unit: str, found: torch.dtype
) -> None:
    has = {"amx_bf16": False, "avx512_bf16": False, unit: True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert resolved("auto") is found
    assert resolved("auto", units=False) is torch.float32
    assert resolved("auto", "cuda", units=False) is torch.bfloat16
    assert resolved("float32", "cuda") is torch.float32 and resolved("bfloat16") is torch.bfloat16


def test_only_multiplications_are_in_bfloat16() -> None:
    weight = torch.randn(3, 3, requires_grad=True)
    with multiplying(torch.bfloat16):
        assert (weight @ weight).dtype is torch.bfloat16
    with multiplying(torch.float32):
        assert (weight @ weight).dtype is torch.float32
    assert weight.dtype is torch.float32


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_named("auto") == device_named("cpu") == torch.device("cpu")
    with pytest.raises(ValueError, match="no CUDA device"):
        device_named("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto") == torch.device("cuda") and device_named("cpu") == torch.device("cpu")
