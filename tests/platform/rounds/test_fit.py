from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.fit import Machine, check_fit, gpu_memory_mb
from deskhand_platform.rounds.presets import preset, preset_names

SMALL = Machine(memory_mb=1500, disk_mb=2000, cores=1, gpu=False)
LARGE = Machine(memory_mb=1e7, disk_mb=1e8, cores=64, gpu=True, gpu_mb=80_000)
LATE: dict[str, Any] = dict.fromkeys(("collect", "explore", "sft", "pretrain", "rejection", "score"))


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_fits_a_small_machine(name: str) -> None:
    check_fit(preset(name), None, SMALL)


def test_memory_is_what_a_phase_takes_at_once() -> None:
    config = preset("smoke", {"ppo": {"concurrency": 100}})
    # 400 MB of a run, 300 + 100 x 19 MB of browsers, 5 x 5 MB of weights
    with pytest.raises(InvalidField) as caught:
        check_fit(config, None, replace(SMALL, memory_mb=2624))
    assert caught.value.field == "ppo.concurrency"
    assert "phase ppo needs at least 2,625 MB of memory = 400 MB (a run) + 2,200 MB" in str(caught.value)
    check_fit(config, None, replace(SMALL, memory_mb=2625))


def test_a_large_model_is_refused_where_there_is_no_gpu() -> None:
    config = preset("smoke")
    with pytest.raises(InvalidField, match=r"^start: .*5 copies of 7,000 MB of weights"):
        check_fit(config, 7000, Machine(memory_mb=32_000, disk_mb=1e6, cores=8, gpu=False))
    check_fit(config, 7000, Machine(memory_mb=32_000, disk_mb=1e6, cores=8, gpu=True, gpu_mb=80_000))
    with pytest.raises(InvalidField, match=r"^start: the round needs at least .* MB of disk space"):
        check_fit(config, 7000, Machine(memory_mb=64_000, disk_mb=30_000, cores=8, gpu=True))


def test_a_large_model_is_refused_where_the_gpu_is_too_small_for_it() -> None:
    config = preset("smoke")
    roomy = Machine(memory_mb=1e6, disk_mb=1e7, cores=8, gpu=True, gpu_mb=34_999)
    with pytest.raises(InvalidField) as caught:
        check_fit(config, 7000, roomy)
    assert caught.value.field == "start"
    assert (
        "phase ppo needs at least 35,000 MB of GPU memory = 35,000 MB (5 copies of 7,000 MB of weights)"
        in str(caught.value)
    )
    check_fit(config, 7000, replace(roomy, gpu_mb=35_000))
    # nobody knows how much there is
    check_fit(config, 7000, replace(roomy, gpu_mb=None))
    with pytest.raises(InvalidField, match=r"2 copies of 700,000 MB.* has 80,000 MB"):
        check_fit(preset("smoke", {"ppo": {"lora_rank": 8}, "evaluate": None, **LATE}), 7e5, LARGE)


@pytest.mark.parametrize(
    ("over", "fits"),
    [
        ({"ppo": None}, False),
        ({"ppo": None, "evaluate": {"policy": "scripted"}}, True),
        ({"ppo": None, "evaluate": {"engine": "http://localhost:1"}}, True),
        ({"evaluate": None, "ppo": {"device": "cpu"}}, True),
    ],
)
def test_only_what_computes_on_the_gpu_has_to_fit_it(over: dict[str, Any], fits: bool) -> None:
    config = preset("smoke", {**LATE, **over})
    if fits:
        check_fit(config, 1e5, LARGE)
        return
    with pytest.raises(InvalidField, match="phase evaluate needs at least 100,000 MB of GPU memory"):
        check_fit(config, 1e5, LARGE)


def test_what_learns_does_so_here_wherever_its_replies_are_drawn() -> None:
    config = preset("smoke", {**LATE, "evaluate": None, "ppo": {"engine": "http://localhost:1"}})
    with pytest.raises(InvalidField, match=r"phase ppo needs .* of GPU memory = .*4 copies"):
        check_fit(config, 1e5, LARGE)


def test_the_warm_start_is_in_memory_whatever_the_gpu() -> None:
    with pytest.raises(InvalidField, match="phase sft needs at least 28,400 MB of memory"):
        check_fit(preset("smoke"), 7000, replace(LARGE, memory_mb=28_000))


@pytest.mark.parametrize(
    ("says", "mb"),
    [
        ("echo 81559", pytest.approx(85_520.8, abs=0.1)),
        ("echo 15360; echo 24576", pytest.approx(25_769.8, abs=0.1)),
        ("echo '[N/A]'", None),
        ("true", None),
        ("echo no driver; exit 9", None),
    ],
)
def test_the_gpus_memory_is_what_its_tool_says(
    says: str, mb: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{says}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    assert gpu_memory_mb() == mb
    tool.unlink()
    assert gpu_memory_mb() is None


def test_what_no_machine_can_run_is_named() -> None:
    with pytest.raises(InvalidField, match=r"^ppo.threads: 64 threads"):
        check_fit(preset("smoke", {"ppo": {"threads": 64}}), None, SMALL)
    with pytest.raises(InvalidField, match=r"^ppo.tasks\[0\]: .*did you mean miniwob/click-test"):
        check_fit(preset("smoke", {"ppo": {"tasks": ["miniwob/click-tes"]}}), None, SMALL)
