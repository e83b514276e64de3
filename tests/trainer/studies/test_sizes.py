from __future__ import annotations

import json
import signal
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.models.bundle import BUNDLE_FILE
from deskhand_agent.shipped import shipped_model
from deskhand_sandbox.errors import SandboxError
from deskhand_trainer.base.config import BaseModelConfig
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.shards import read_shard, write_shard
from deskhand_trainer.base.train import PretrainReport, pretrain
from deskhand_trainer.errors import ResultsError
from deskhand_trainer.studies import sizes
from deskhand_trainer.studies.runs import StudyDiffers, labels_now

TINY = BaseModelConfig(
    patch_px=16, vision_width=16, vision_depth=1, vision_heads=2, text_width=32, text_depth=1, text_heads=2,
    text_mlp=64,
)  # fmt: skip


@pytest.fixture
def shards(tmp_path: Path, pages: list[SeenPage]) -> list[Path]:
    path = tmp_path / "press-train-0000000-12.tar"
    write_shard(path, pages)
    return [path]


def test_a_model_gets_the_steps_its_processor_time_allows_and_is_measured_once(
    tmp_path: Path, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "TIMED_STEPS", 2)
    found = sizes.study_model(tmp_path / "tiny", TINY, shards, shards, cpu_s=3.0)
    assert found["steps"]["reading"] >= 1 and found["steps"]["asking"] >= 1
    assert found["cpu_ms_per_action"] > 0 and set(found["made"]) == set(labels_now())
    assert set(sizes.MEASURED) - {"state"} <= {*found["figures"]}  # Pillow's pages show nothing that has one
    assert (tmp_path / "tiny" / "model" / "model.safetensors").exists()
    monkeypatch.setattr(sizes, "pretrain", None)
    assert sizes.study_model(tmp_path / "tiny", TINY, shards, shards, cpu_s=3.0) == found
    # it stands under no other minutes and no other size
    with pytest.raises(StudyDiffers, match=r"cpu_s is 3.0 there and 60.0 now.*another folder"):
        sizes.study_model(tmp_path / "tiny", TINY, shards, shards, cpu_s=60.0)
    with pytest.raises(StudyDiffers, match=r"size\.text_depth is 1 there and 2 now"):
        sizes.study_model(tmp_path / "tiny", replace(TINY, text_depth=2), shards, shards, cpu_s=3.0)


def test_a_model_can_be_shown_pages_of_another_size(
    tmp_path: Path, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "TIMED_STEPS", 1)
    shown: list[tuple[int, int]] = []

    def trained(bundle: Any, train: list[Path], held_out: list[Path], *_: Any, **__: Any) -> PretrainReport:
        for path in (*train, *held_out):
            assert path.name == shards[0].name
            shown.extend((p.image.width_px, p.image.height_px) for p in read_shard(path))
        return pretrain(bundle, train, held_out, *_, **__)

    monkeypatch.setattr(sizes, "pretrain", trained)
    found = sizes.study_model(tmp_path / "half", TINY, shards, shards, cpu_s=0.5, scale=1.5)
    assert set(shown) == {(96, 96)} and found["cpu_ms_per_action"] > 0
    with pytest.raises(StudyDiffers, match=r"scale is 1.5 there and"):
        sizes.study_model(tmp_path / "half", TINY, shards, shards, cpu_s=0.5)


def test_models_of_before_there_were_scales_are_not_done_again(tmp_path: Path) -> None:
    told = {"size": asdict(TINY), "cpu_s": 3.0}
    sizes.begin(tmp_path, TINY, 3.0)
    assert json.loads((tmp_path / "told.json").read_text()) == told


def test_one_model_is_as_large_as_that_of_the_package() -> None:
    tiny = json.loads((shipped_model() / BUNDLE_FILE).read_text())["tiny"]
    assert asdict(sizes.MODELS["deeper"]).items() <= tiny.items()
    assert {sizes.MODELS[name] for name in sizes.SCALES} == {sizes.MODELS["medium"]}


def test_other_minutes_are_not_published_as_the_usual_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sizes.main([str(tmp_path / "study"), "--cpu-minutes", "10"]) == 1
    assert "are of 30 minutes each: name another place" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_a_model_that_does_not_say_what_it_was_told_is_refused(tmp_path: Path) -> None:
    for name in ("plan.json", "result.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(StudyDiffers, match="not told there"):
        sizes.study_model(tmp_path, TINY, [], [], cpu_s=3.0)


def test_every_model_has_figures_of_its_own() -> None:
    found: dict[str, dict[str, Any]] = {
        name: {
            "figures": dict.fromkeys(sizes.MEASURED, 0.5),
            "parameters": 4_000_000,
            "cpu_ms_per_action": 40.0,
            "steps": {"reading": 10, "asking": 20},
        }
        for name in sizes.MODELS
    }
    found["small"]["made"] = {"commit": "c1", "date": "2026-01-02", "machine": "a small one"}
    made = sizes.figures(found, 30.0)
    assert len({figure.name for figure in made}) == len(made) == len(sizes.MODELS) * (len(sizes.MEASURED) + 2)
    assert all(figure.config["cpu_minutes"] == 30.0 for figure in made)
    scales = {figure.name.split("_")[1]: figure.config.get("scale") for figure in made}
    assert scales == {**dict.fromkeys(sizes.MODELS), **sizes.SCALES}
    # those of models that do not say where they were made were not made here and now
    assert {figure.commit for figure in made if "_small_" not in figure.name} == {"unknown"}
    assert {figure.commit for figure in made if "_small_" in figure.name} == {"c1"}


def test_a_study_that_is_stopped_begins_no_other_model(tmp_path: Path) -> None:
    begun = tmp_path / "later"
    jobs = {
        # what Ctrl-C raises in every process
        "stopped": partial(signal.default_int_handler, signal.SIGINT, None),
        "under way": partial(time.sleep, 30.0),
        "later": partial(Path.touch, begun),
    }
    with pytest.raises(KeyboardInterrupt):
        sizes.in_processes(jobs, workers=1)
    assert not begun.exists()


@pytest.mark.parametrize("error", [SandboxError("there is no Chromium"), ResultsError("no results file")])
def test_what_hinders_it_is_said_in_a_sentence(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "_study", partial(_raise, error))
    assert sizes.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{error}\n"


def _raise(error: Exception, *_: object) -> None:
    raise error
