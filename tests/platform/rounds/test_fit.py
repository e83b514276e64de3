from __future__ import annotations

from dataclasses import replace

import pytest

from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.fit import Machine, check_fit
from deskhand_platform.rounds.presets import preset, preset_names

SMALL = Machine(memory_mb=1500, disk_mb=2000, cores=1, gpu=False)


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
    check_fit(config, 7000, Machine(memory_mb=32_000, disk_mb=1e6, cores=8, gpu=True))
    with pytest.raises(InvalidField, match=r"^start: the round needs at least .* MB of disk space"):
        check_fit(config, 7000, Machine(memory_mb=64_000, disk_mb=30_000, cores=8, gpu=True))


def test_what_no_machine_can_run_is_named() -> None:
    with pytest.raises(InvalidField, match=r"^ppo.threads: 64 threads"):
        check_fit(preset("smoke", {"ppo": {"threads": 64}}), None, SMALL)
    with pytest.raises(InvalidField, match=r"^ppo.tasks\[0\]: .*did you mean miniwob/click-test"):
        check_fit(preset("smoke", {"ppo": {"tasks": ["miniwob/click-tes"]}}), None, SMALL)
