from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image as PilImage
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoProcessor, Qwen3VLForConditionalGeneration

from deskhand_agent.errors import ModelFilesError
from deskhand_agent.formats import system_prompt
from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import (
    BUNDLE_FILE,
    UNREAD,
    ModelBundle,
    build_tiny,
    load_bundle,
    save_bundle,
)
from deskhand_agent.models.images import sized_pixels
from deskhand_agent.models.prompting import tokenise_prompt
from deskhand_agent.prompt import ImageSegment, PromptMessage, Text
from deskhand_sandbox.types import Image

Picture = Callable[..., Image]
PROCESSOR = "dcc73cffdf0302f55414962c078586d1f76c9c6dc3e5f11b7e8dca863c2200d6"
"""Of the fixture's model: under another name, turns that such a model sampled would be tokenised anew."""


def same_weights(one: ModelBundle, other: ModelBundle) -> bool:
    mine, theirs = one.model.state_dict(), other.model.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_a_saved_bundle_loads_bit_equal(bundle: ModelBundle, tmp_path: Path, family: str) -> None:
    assert bundle.tiny is not None
    bundle = build_tiny(replace(bundle.tiny, family=family))
    bundle.memory = WindowMemory(n_screenshots=3, screens="text", summary_after=4, summary_tokens=9)
    save_bundle(bundle, tmp_path / "policy")
    loaded = load_bundle(tmp_path / "policy")
    assert same_weights(bundle, loaded)
    assert loaded.processor_hash == bundle.processor_hash
    assert loaded.tiny == bundle.tiny
    assert loaded.memory == loaded.clone().memory == bundle.memory
    assert loaded.suppressed_ids.tolist() == bundle.suppressed_ids.tolist()


def test_saving_replaces_whole_and_leaves_nothing_beside(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "policy")
    assert bundle.tiny is not None
    other = build_tiny(replace(bundle.tiny, seed=1))
    save_bundle(other, tmp_path / "policy")
    assert same_weights(load_bundle(tmp_path / "policy"), other)
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]


def test_a_full_disk_is_told_as_such_and_the_old_folder_stays(
    bundle: ModelBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    save_bundle(bundle, tmp_path / "policy")
    monkeypatch.setattr(type(bundle.model), "save_pretrained", full)
    with pytest.raises(OSError, match="No space left") as caught:
        save_bundle(bundle, tmp_path / "policy")
    assert caught.value.errno == errno.ENOSPC
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]
    assert same_weights(load_bundle(tmp_path / "policy"), bundle)


def test_transformers_alone_loads_the_folder_and_makes_the_same_ids(
    bundle: ModelBundle, tmp_path: Path, picture: Picture
) -> None:
    save_bundle(bundle, tmp_path / "policy")
    processor = AutoProcessor.from_pretrained(tmp_path / "policy")
    model = Qwen3VLForConditionalGeneration.from_pretrained(tmp_path / "policy")
    assert torch.equal(model.lm_head.weight, bundle.model.lm_head.weight)
    image, said = picture(), "Click on the button."
    reply = "click(point='<point>8 12</point>')"
    content = [{"type": "image"}, {"type": "text", "text": said}]
    messages = [
        {"role": "user", "content": content},
        {"role": "assistant", "content": reply},
        {"role": "user", "content": content},
    ]
    text = processor.apply_chat_template(messages, add_generation_prompt=True)
    pixels = PilImage.fromarray(sized_pixels(image, bundle.images).numpy())
    theirs = processor(text=[text], images=[pixels, pixels], return_tensors="pt")
    turn = PromptMessage(role="user", segments=(Text(text=said), ImageSegment(image=image)))
    answer = PromptMessage(role="assistant", segments=(Text(text=reply),))
    mine = tokenise_prompt(bundle, [turn, answer, turn])
    assert theirs["input_ids"][0].tolist() == list(mine.ids)
    features, _ = bundle.cache.features([image, image])
    torch.testing.assert_close(theirs["pixel_values"], torch.cat(tuple(features)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("family", "kind"), [("qwen3_vl", "normalised"), ("qwen2_5_vl", "resized")])
def test_a_released_folder_gets_its_familys_frame(
    bundle: ModelBundle, tmp_path: Path, picture: Picture, family: str, kind: str
) -> None:
    """A folder without our file is what a hub gives: frame and picture settings come from the family."""
    assert bundle.tiny is not None
    save_bundle(build_tiny(replace(bundle.tiny, family=family)), tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).unlink()
    loaded = load_bundle(tmp_path / "hub")
    assert loaded.coordinates.kind == kind
    assert loaded.tiny is None
    assert not loaded.images.pad
    assert not loaded.pictures_first
    message = PromptMessage(
        role="user", segments=(Text(text="Click"), ImageSegment(image=picture(0, 45, 30)))
    )
    prompt = tokenise_prompt(loaded, [message])
    assert prompt.ids.count(int(loaded.model.config.image_token_id)) == loaded.images.tokens(45, 30)


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_a_released_model_is_told_the_grammar_and_stays_told(
    bundle: ModelBundle, tmp_path: Path, family: str
) -> None:
    """What it is told is kept beside its weights, and names its processor."""
    assert bundle.tiny is not None
    save_bundle(build_tiny(replace(bundle.tiny, family=family)), tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).unlink()
    released = load_bundle(tmp_path / "hub")
    assert released.system == system_prompt(released.coordinates)
    assert released.processor_hash != replace(released, system="").processor_hash
    released.system += "\nAs it was said before."
    save_bundle(released.clone(), tmp_path / "trained")
    trained = load_bundle(tmp_path / "trained")
    assert (trained.tiny, trained.system) == (None, released.system)
    assert trained.processor_hash == load_bundle(tmp_path / "trained").clone().processor_hash


@pytest.mark.parametrize(
    ("family", "form", "kind"),
    [
        ("qwen2_5_vl", "ui_tars", "resized"),
        ("qwen2_5_vl", "ui_tars_1_0", "normalised"),
        ("qwen3_vl", "ui_tars_mobile", "normalised"),
    ],
)
def test_a_released_model_is_asked_in_another_form_where_its_folder_says_so(
    bundle: ModelBundle, tmp_path: Path, family: str, form: str, kind: str
) -> None:
    """No system message, the family's frame unless the form has one, and the same once it was trained."""
    assert bundle.tiny is not None
    save_bundle(build_tiny(replace(bundle.tiny, family=family)), tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text(json.dumps({"reply_format": form}))
    released = load_bundle(tmp_path / "hub")
    assert (released.system, released.reply_format, released.coordinates.kind) == ("", form, kind)
    assert released.form.coordinates == released.coordinates
    assert released.processor_hash != replace(released, reply_format="deskhand").processor_hash
    save_bundle(released.clone(), tmp_path / "trained")
    trained = load_bundle(tmp_path / "trained")
    assert (trained.reply_format, trained.processor_hash) == (form, released.processor_hash)


def test_a_form_that_there_is_not_is_refused_by_name(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text('{"reply_format": "ui_tarts"}')
    with pytest.raises(ModelFilesError, match="did you mean ui_tars"):
        load_bundle(tmp_path / "hub")
    (tmp_path / "hub" / BUNDLE_FILE).write_text('["ui_tars"]')
    with pytest.raises(ModelFilesError, match="is damaged"):
        load_bundle(tmp_path / "hub")


def test_a_model_built_here_is_told_nothing_and_keeps_its_name(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "policy")
    assert "system" not in json.loads((tmp_path / "policy" / BUNDLE_FILE).read_text())
    assert load_bundle(tmp_path / "policy").system == bundle.system == ""
    assert bundle.processor_hash == PROCESSOR


def test_fresh_weights_depend_on_the_seed_alone(bundle: ModelBundle) -> None:
    torch.manual_seed(123)
    expected = torch.rand(1)
    torch.manual_seed(123)
    again = build_tiny(bundle.tiny)
    assert torch.rand(1) == expected
    assert same_weights(again, bundle)


def test_a_clone_shares_no_weights(bundle: ModelBundle) -> None:
    clone = bundle.clone()
    with torch.no_grad():
        clone.model.lm_head.weight.zero_()
    assert bundle.model.lm_head.weight.abs().sum() > 0


def damage(folder: Path, how: str) -> None:
    weights = folder / "model.safetensors"
    if how == "missing":
        (folder / "config.json").unlink()
    elif how == "cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif how == "no weights":
        weights.unlink()
    elif how == "config":
        (folder / "config.json").write_text("{")
    elif how == "settings":
        (folder / BUNDLE_FILE).write_text('{"tiny": null}')
    elif how == "tokens":
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"]["x"] = "y"
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    elif how == "deep":
        (folder / "config.json").write_text("[" * 100_000)
    elif how == "deep settings":
        (folder / BUNDLE_FILE).write_text("[" * 100_000)
    else:
        config = json.loads((folder / "config.json").read_text())
        part, name, value = OTHERS[how]
        (config[part] if part else config)[name] = value
        (folder / "config.json").write_text(json.dumps(config))


OTHERS: dict[str, tuple[str, str, Any]] = {
    "foreign": ("", "model_type", "llama"),
    "type": ("text_config", "hidden_size", "wide"),
    "shape": ("text_config", "intermediate_size", 8),
    "fewer layers": ("text_config", "num_hidden_layers", 1),
    "more layers": ("text_config", "num_hidden_layers", 9),
    "no heads": ("vision_config", "num_heads", 0),
    "negative": ("text_config", "hidden_size", -1),
}
"""What another version of a model has in its config.json."""


@pytest.mark.parametrize(
    "how",
    ["missing", "cut", "no weights", "config", "settings", "tokens", "deep", "deep settings", *OTHERS],
)
def test_damaged_and_foreign_folders_are_refused_with_the_mend(
    bundle: ModelBundle, tmp_path: Path, how: str
) -> None:
    save_bundle(bundle, tmp_path / "policy")
    damage(tmp_path / "policy", how)
    for device in ("cpu", UNREAD):
        with pytest.raises(ModelFilesError, match=r"give the folder|again|endpoint"):
            load_bundle(tmp_path / "policy", device=device)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
def test_a_folder_can_be_checked_without_its_weights(
    bundle: ModelBundle, tmp_path: Path, family: str, released: bool
) -> None:
    assert bundle.tiny is not None
    save_bundle(build_tiny(replace(bundle.tiny, family=family)), tmp_path / "policy")
    if released:
        (tmp_path / "policy" / BUNDLE_FILE).unlink()
    checked, loaded = (load_bundle(tmp_path / "policy", device=device) for device in (UNREAD, "cpu"))
    assert {each.device.type for each in checked.model.state_dict().values()} == {UNREAD}
    assert checked.processor_hash == loaded.processor_hash


@pytest.mark.parametrize(
    ("part", "name", "value", "says"),
    [
        ("images", "patch_px", 0, "patch_px is 0: give a whole number, 1 or more"),
        ("images", "patch_px", -8, "patch_px is -8: give a whole number"),
        ("images", "patch_px", 8.0, "patch_px is 8.0: give a whole number"),
        ("images", "patch_px", 4, "patch_px is 4, and the vision tower of config.json takes 8"),
        ("images", "temporal", 2, "temporal is 2, and the vision tower of config.json takes 1"),
        ("images", "min_pixels", 10**9, "min_pixels 1000000000 is above max_pixels"),
        ("images", "std", [0.3, 0.3, 0.0], "std is .*: give three numbers above 0"),
        ("images", "mean", [0.9, math.nan, 0.9], "mean is .*: give three numbers"),
        ("images", "mean", [0.9], "mean is .*: give three numbers"),
        ("coordinates", "step", 0, "step is 0: give a whole number, 1 or more"),
        ("coordinates", "kind", "grids", "kind is 'grids': give pixel, "),
        ("memory", "n_screenshots", 1.5, "n_screenshots is 1.5: give a whole number, 0 or more"),
        ("memory", "tree_bytes", True, "tree_bytes is True: give a whole number"),
        ("tiny", "patch_px", 0, "ZeroDivisionError"),
        ("tiny", "text_width", 96.0, "text_width is 96.0: give a whole number"),
    ],
)
def test_settings_that_no_model_can_have_are_refused_by_name(
    bundle: ModelBundle, tmp_path: Path, part: str, name: str, value: Any, says: str
) -> None:
    save_bundle(bundle, tmp_path / "policy")
    file = tmp_path / "policy" / BUNDLE_FILE
    described = json.loads(file.read_text())
    described[part][name] = value
    file.write_text(json.dumps(described))
    with pytest.raises(ModelFilesError, match=f"policy is damaged .*{says}.*: copy or download it again"):
        load_bundle(tmp_path / "policy")


def test_weights_that_no_model_of_its_kind_has_are_left_out(bundle: ModelBundle, tmp_path: Path) -> None:
    save_bundle(bundle, tmp_path / "hub")
    file = tmp_path / "hub" / "model.safetensors"
    computed = "model.language_model.layers.0.self_attn.rotary_emb.inv_freq"
    more = {computed: torch.ones(2), "mtp.layers.0.mlp.up_proj.weight": torch.ones(2, 2)}
    save_file({**load_file(file), **more}, file, {"format": "pt"})
    assert same_weights(load_bundle(tmp_path / "hub"), bundle)


@pytest.mark.parametrize("what", ["format", "template"])
def test_a_folder_of_another_version_is_refused(bundle: ModelBundle, tmp_path: Path, what: str) -> None:
    save_bundle(bundle, tmp_path / "policy")
    file = tmp_path / "policy" / BUNDLE_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), what: 99}))
    with pytest.raises(ModelFilesError, match=rf"another version.*{what} 99; this one reads 1.*train again"):
        load_bundle(tmp_path / "policy")


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match="no model folder"):
        load_bundle(tmp_path / "nowhere")
