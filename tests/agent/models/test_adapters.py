from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.model_files import ADAPTERS_FILE, ADAPTERS_WEIGHTS, check_model_folder
from deskhand_agent.models.bundle import ModelBundle, build_tiny, load_bundle, save_bundle

# peft asks transformers for it by its former name
pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
IDS = (60, 61, 62, 63)
LAYERS = r".*language_model.*\.[qv]_proj"


@torch.no_grad()
def logits(bundle: ModelBundle) -> torch.Tensor:
    return cast(Any, bundle.model)(input_ids=torch.tensor([IDS])).logits


@torch.no_grad()
def keep(base: Path, folder: Path, **settings: Any) -> None:
    """What peft's own `save_pretrained` writes of adapters that change something."""
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=LAYERS, **settings)
    wrapped: Any = get_peft_model(load_bundle(base).model, config)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.5)
        elif parameter.requires_grad and "lora_A" not in name:
            parameter *= 1.5
    wrapped.save_pretrained(folder)


@pytest.fixture
def kept(bundle: ModelBundle, tmp_path: Path) -> Path:
    """A folder of adapters; its base is beside it."""
    save_bundle(bundle, tmp_path / "base")
    keep(tmp_path / "base", tmp_path / "adapters")
    return tmp_path / "adapters"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"use_dora": True},
        {"use_rslora": True, "rank_pattern": {"q_proj": 4}},
        {"modules_to_save": ["lm_head"]},
    ],
    ids=["plain", "dora", "ranks", "head"],
)
def test_a_folder_of_adapters_is_the_model_they_come_to(
    bundle: ModelBundle, tmp_path: Path, settings: dict[str, Any]
) -> None:
    save_bundle(bundle, tmp_path / "base")
    keep(tmp_path / "base", tmp_path / "adapters", **settings)
    loaded = load_bundle(tmp_path / "adapters")
    with torch.no_grad():
        wrapped: Any = PeftModel.from_pretrained(
            load_bundle(tmp_path / "base").model, str(tmp_path / "adapters")
        ).eval()
        theirs = wrapped(input_ids=torch.tensor([IDS])).logits
    torch.testing.assert_close(logits(loaded), theirs, atol=1e-5, rtol=0)
    assert not torch.allclose(logits(loaded), logits(bundle), atol=1e-3)
    # and is written as a plain one
    save_bundle(loaded, tmp_path / "plain")
    check_model_folder(tmp_path / "plain")
    assert torch.equal(logits(load_bundle(tmp_path / "plain")), logits(loaded))
    assert loaded.processor_hash == bundle.processor_hash


@pytest.mark.filterwarnings("ignore:.*(lora_bias=True|invalid shape)")
def test_adapters_that_come_to_no_plain_model_are_refused(kept: Path) -> None:
    keep(kept.parent / "base", kept, lora_bias=True)
    with pytest.raises(ModelFilesError, match=r"come to no plain model \(.*has no bias.*serve them"):
        load_bundle(kept)


def test_the_base_is_found_from_the_folder_of_the_adapters(kept: Path) -> None:
    described = json.loads((kept / ADAPTERS_FILE).read_text())
    (kept / ADAPTERS_FILE).write_text(json.dumps({**described, "base_model_name_or_path": "../base"}))
    assert logits(load_bundle(kept)).isfinite().all()


def _elsewhere(kept: Path) -> None:
    described = json.loads((kept / ADAPTERS_FILE).read_text())
    (kept / ADAPTERS_FILE).write_text(
        json.dumps({**described, "base_model_name_or_path": "Qwen/Qwen3-VL-2B"})
    )


def _without_weights(kept: Path) -> None:
    (kept / ADAPTERS_WEIGHTS).unlink()


def _cut(kept: Path) -> None:
    data = (kept / ADAPTERS_WEIGHTS).read_bytes()
    (kept / ADAPTERS_WEIGHTS).write_bytes(data[: len(data) // 2])


def _no_json(kept: Path) -> None:
    (kept / ADAPTERS_FILE).write_text("{")


def _other_base(kept: Path) -> None:
    tiny = load_bundle(kept.parent / "base").tiny
    assert tiny is not None
    shutil.rmtree(kept.parent / "base")
    save_bundle(build_tiny(replace(tiny, text_width=48, text_depth=1)), kept.parent / "base")


def _of_themselves(kept: Path) -> None:
    described = json.loads((kept / ADAPTERS_FILE).read_text())
    (kept / ADAPTERS_FILE).write_text(json.dumps({**described, "base_model_name_or_path": "."}))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (_elsewhere, "'Qwen/Qwen3-VL-2B', which is no folder of this machine: write the path"),
        (_without_weights, "has no adapter_model.safetensors: copy the whole folder"),
        (_cut, "is damaged .*: copy or download it again"),
        (_no_json, "the adapters in .* are damaged"),
        (_other_base, "are damaged or of another model than their base"),
        (_of_themselves, "no config.json"),
    ],
)
def test_what_is_wrong_with_adapters_is_said(kept: Path, harm: Callable[[Path], None], told: str) -> None:
    harm(kept)
    with pytest.raises(ModelFilesError, match=told):
        load_bundle(kept)


def test_adapters_are_not_taken_for_a_model(kept: Path) -> None:
    with pytest.raises(
        ModelFilesError, match=r"holds adapters, not a model: .*`deskhand policies import` does"
    ):
        check_model_folder(kept)
