"""`deskhand policies import` of adapters, and of weights that are asked in a form of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.checksums import write_sums
from deskhand_agent.models.bundle import BUNDLE_FILE, build_tiny, load_bundle, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_platform.rounds.config import merge

SMALL = TinyConfig(patch_px=8, vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1)


@pytest.fixture
def deskhand(deskhand: Any) -> Any:
    """Runs a command; how it ended and what it printed."""

    def run(*arguments: object) -> tuple[int, str]:
        status, out, err = deskhand(*arguments)
        return status, out + err

    return run


# peft asks transformers for it by its former name
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_adapters_are_kept_as_the_model_they_come_to(tmp_path: Path, deskhand: Any) -> None:
    save_bundle(build_tiny(SMALL), tmp_path / "base")
    base = load_bundle(tmp_path / "base").model
    from peft import LoraConfig, get_peft_model  # wants what loading a model sees to

    model: Any = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    model.save_pretrained(tmp_path / "mine")
    wanted = load_bundle(tmp_path / "mine").model.state_dict()

    code, told = deskhand("policies", "import", tmp_path / "mine")
    assert code == 0, told
    policy = told.split("policy: ")[1].split()[0]
    assert "name: mine" in deskhand("policies", "show", policy)[1]
    assert deskhand("policies", "export", policy, tmp_path / "again")[0] == 0
    kept = load_bundle(tmp_path / "again").model.state_dict()
    assert kept.keys() == wanted.keys()
    assert all(torch.equal(kept[name], tensor) for name, tensor in wanted.items())

    code, told = deskhand("policies", "import", tmp_path / "mine", "--reply-format", "ui_tars")
    assert code == 2
    assert "asked as their base is" in told
    (tmp_path / "base" / "config.json").unlink()
    code, told = deskhand("policies", "import", tmp_path / "mine")
    assert code == 2
    assert "no config.json" in told


def test_specialists_are_merged_by_the_weighted_mean_and_remembered_as_parents(
    tmp_path: Path, deskhand: Any
) -> None:
    ids: list[str] = []
    for seed, name in enumerate(("one", "two")):
        save_bundle(build_tiny(replace(SMALL, seed=seed)), tmp_path / name)
        ids.append(deskhand("policies", "import", tmp_path / name)[1].split("policy: ")[1].split()[0])
    code, told = deskhand("policies", "merge", *ids, "--weight", 3, "--weight", 1)
    assert code == 0, told
    policy = told.split("policy: ")[1].split()[0]
    assert deskhand("policies", "export", policy, tmp_path / "both")[0] == 0
    one, two, both = (load_bundle(tmp_path / each).model.state_dict() for each in ("one", "two", "both"))
    for name, weights in both.items():
        torch.testing.assert_close(weights, 0.75 * one[name] + 0.25 * two[name])
    shown = json.loads(deskhand("policies", "show", policy, "--json")[1])
    assert shown["parent_id"] == ids[0]
    assert shown["metadata"]["merged"] == dict(zip(ids, (3, 1), strict=True))
    code, line = deskhand("flywheel", "lineage", policy)
    assert code == 0, line
    assert all(f"merged, weight {weight}" in line for weight in (3, 1)), line


def test_weights_of_another_version_are_not_kept(tmp_path: Path, deskhand: Any) -> None:
    save_bundle(build_tiny(SMALL), tmp_path / "mine")
    for file, told, said in (
        ("config.json", {"text_config": {"intermediate_size": 8}}, "do not fit its config.json"),
        (BUNDLE_FILE, {"format": 99}, "by another version of Deskhand"),
    ):
        kept = (tmp_path / "mine" / file).read_text()
        (tmp_path / "mine" / file).write_text(json.dumps(merge(json.loads(kept), told)))
        code, printed = deskhand("policies", "import", tmp_path / "mine")
        assert code == 2
        assert said in printed
        (tmp_path / "mine" / file).write_text(kept)
    assert "mine" not in deskhand("policies", "list")[1]
    assert deskhand("policies", "import", tmp_path / "mine")[0] == 0


def test_released_weights_are_kept_with_the_form_that_they_are_asked_in(
    tmp_path: Path, deskhand: Any
) -> None:
    save_bundle(build_tiny(SMALL), tmp_path / "tars")
    code, told = deskhand("policies", "import", tmp_path / "tars", "--reply-format", "ui_tars")
    assert code == 2
    assert "says itself how its model is asked" in told
    (tmp_path / "tars" / BUNDLE_FILE).unlink()
    write_sums(tmp_path / "tars")
    code, told = deskhand("policies", "import", tmp_path / "nowhere", "--reply-format", "ui_tars")
    assert code == 2
    assert "no config.json" in told
    code, told = deskhand("policies", "import", tmp_path / "tars", "--reply-format", "ui_tarts")
    assert code == 2
    assert "did you mean ui_tars" in told
    code, told = deskhand("policies", "import", tmp_path / "tars", "--reply-format", "ui_tars")
    assert code == 0, told
    policy = told.split("policy: ")[1].split()[0]
    assert "name: tars" in deskhand("policies", "show", policy)[1]
    assert not (tmp_path / "tars" / BUNDLE_FILE).exists()
    assert deskhand("policies", "export", policy, tmp_path / "again")[0] == 0
    again = load_bundle(tmp_path / "again")
    assert (again.reply_format, again.system) == ("ui_tars", "")
