"""The model of the package: as it was shipped, small enough, and plain transformers load it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoModelForImageTextToText, AutoProcessor, Qwen3VLForConditionalGeneration

from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.shipped import FOLDER, shipped_model

RESULTS = Path(__file__).parents[3] / "docs/results/base.json"
MEGABYTES = 30


def test_every_file_is_as_it_was_shipped_and_they_are_small() -> None:
    folder = shipped_model()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= MEGABYTES * 1_000_000
    with safe_open(folder / "model.safetensors", framework="pt") as weights:
        tensors = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118 - not a mapping
        assert {tensor.get_dtype() for tensor in tensors} == {"BF16"}


def test_it_is_a_small_qwen3_vl() -> None:
    bundle = load_bundle(shipped_model())
    assert isinstance(bundle.model, Qwen3VLForConditionalGeneration)
    assert 3e6 <= sum(each.numel() for each in bundle.model.parameters()) <= 15e6
    assert bundle.tiny is not None and bundle.tiny.max_side_px == 448


def test_plain_transformers_load_it() -> None:
    model = AutoModelForImageTextToText.from_pretrained(FOLDER, dtype=torch.float32)
    processor = AutoProcessor.from_pretrained(FOLDER)
    assert isinstance(model, Qwen3VLForConditionalGeneration)
    assert processor.tokenizer.convert_tokens_to_ids("click(point='<point>") is not None


def test_the_model_card_says_what_was_measured() -> None:
    card = (FOLDER / "README.md").read_text()
    figures = json.loads(RESULTS.read_text())["figures"]
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", card, re.MULTILINE)
    assert {"point_unseen", "point_described", "read_exact", "widget_state", "miniwob_train_mean"} <= {
        name for name, _ in rows
    }
    for name, value in rows:
        assert float(value) == round(figures[name]["value"], 3), name
