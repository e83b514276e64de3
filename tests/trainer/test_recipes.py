"""The recipe of the model of the package: every file is understood, and leaves out what it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from deskhand_agent.model_files import check_model_folder
from deskhand_agent.models.bundle import load_bundle
from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.base.heads import PerceptionHeads
from deskhand_trainer.config import CollectConfig, PretrainConfig, SftConfig, parse_config
from deskhand_trainer.studies.base_tasks import CANDIDATES, NEVER_SHOWN, train_tasks

RECIPE = Path(__file__).parents[2] / "infra/models/deskhand-tiny"
KINDS = {
    "pretrain": PretrainConfig,
    "further": PretrainConfig,
    "reading": PretrainConfig,
    "reading-again": PretrainConfig,
    "fresh-pages": PretrainConfig,
    "deeper": PretrainConfig,
    "more-fonts": PretrainConfig,
    "deeper-again": PretrainConfig,
    "narrow-letters": PretrainConfig,
    "sft-letters": SftConfig,
    "sft-letters-again": SftConfig,
    "sft-reading": SftConfig,
    "demonstrations": CollectConfig,
    "forms": CollectConfig,
    "sft": SftConfig,
    "hard-demonstrations": CollectConfig,
    "more-forms": CollectConfig,
    "sft-hard": SftConfig,
    "more-demonstrations": CollectConfig,
    "sft-more": SftConfig,
    "sft-deeper": SftConfig,
    "sft-colours": SftConfig,
    "colour-demonstrations": CollectConfig,
    "gpu-demonstrations": CollectConfig,
    "gpu": PretrainConfig,
    "gpu-again": PretrainConfig,
    "sft-colours-again": SftConfig,
}


def read(name: str) -> Any:
    return parse_config(KINDS[name], yaml.safe_load((RECIPE / f"{name}.yaml").read_text()))


def test_every_file_is_a_run() -> None:
    assert {path.stem for path in RECIPE.glob("*.yaml")} == set(KINDS)
    assert read("pretrain").model == PretrainConfig().model


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind is not PretrainConfig])
def test_nothing_is_shown_that_is_measured_as_unseen(name: str) -> None:
    config = read(name)
    assert set(config.tasks) <= set(oracle_tasks())
    tasks = {*config.tasks, *getattr(config, "perception_tasks", ())}
    assert not tasks & set(HELD_OUT_TASKS) and not tasks & {*CANDIDATES, *NEVER_SHOWN}


@pytest.mark.parametrize("name", ["gpu", "gpu-again"])
def test_what_is_imitated_on_a_gpu_is_not_measured_as_unseen(name: str) -> None:
    tasks = set(read(name).demonstration_tasks)
    assert tasks == set(read("demonstrations").tasks) | set(read("forms").tasks)
    assert set(read("gpu-demonstrations").tasks) <= tasks


def test_the_model_kept_beside_the_recipe_is_whole() -> None:
    check_model_folder(RECIPE / "base")
    bundle = load_bundle(RECIPE / "base")
    assert bundle.tiny is not None and bundle.tiny.vision_depth == read("deeper-again").vision_depth
    assert PerceptionHeads(bundle.tiny.vision_width, bundle.text_width).load(RECIPE / "base")


def test_what_is_imitated_was_demonstrated() -> None:
    shown = set(read("demonstrations").tasks) | set(read("forms").tasks)
    assert set(read("sft").tasks) == shown and set(train_tasks()) <= shown
    hard, further = read("sft-hard"), read("sft-more")
    assert set(hard.tasks) == set(further.tasks) == shown
    more = (read("hard-demonstrations"), read("more-forms"))
    assert set(hard.hard_tasks) == {task for each in more for task in each.tasks}
    assert set(further.hard_tasks) == set(read("more-demonstrations").tasks)
