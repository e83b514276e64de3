"""Tasks of a round that success cannot be measured on are refused before it starts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.plan import VALIDATION_OFFSET, plan
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.serving import platform
from deskhand_platform.settings import Settings
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS, seeds, split_of
from deskhand_sandbox.types import Split
from deskhand_trainer.admission import HELD_OUT_VALIDATION_OFFSET
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import FINISHED

TASK, HELD, UNPROVEN_HELD = "miniwob/click-test", "miniwob/click-tab-2-hard", "miniwob/bisect-angle"
UNPROVEN = "miniwob/stock-market"


@pytest.mark.parametrize(
    ("over", "field", "said"),
    [
        ({"promote": {"tasks": [TASK, "miniwob/click-tes"]}}, "promote.tasks[1]", f"did you mean {TASK}"),
        ({"evaluate": {"tasks": ["miniwob/click-tes"]}}, "evaluate.tasks[0]", f"did you mean {TASK}"),
        ({"evaluate": None, "promote": {"tasks": ["click"]}}, "promote.tasks[0]", "unknown task 'click'"),
        (
            {"promote": {"tasks": [HELD, UNPROVEN_HELD]}},
            "promote.tasks[1]",
            f"^promote.*{UNPROVEN_HELD}: nothing is known to solve it.* set evaluate.unproven=true",
        ),
        ({"evaluate": {"tasks": [UNPROVEN_HELD]}}, "evaluate.tasks[0]", "set evaluate.unproven=true"),
        (
            {
                "evaluate": {
                    "tasks": [HELD],
                    "seed_offset": HELD_OUT_VALIDATION_OFFSET + VALIDATION_OFFSET - 7,
                }
            },
            "evaluate.seed_offset",
            "would be reported too",
        ),
        ({"evaluate": {"split": "validation", "episodes": 5001}}, "evaluate.seed_offset", "chosen by luck"),
    ],
)
def test_what_cannot_be_measured_is_refused(over: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(InvalidField, match=said) as caught:
        checked_preset("smoke", over)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("over", "field", "said"),
    [
        ({"ppo": {"tasks": []}}, "ppo.tasks", "name at least one task"),
        ({"evaluate": {"tasks": []}}, "evaluate.tasks", "name at least one task"),
        ({"ppo": {"tasks": [TASK, HELD]}}, "ppo.tasks", f"{HELD}: held-out tasks are never trained on"),
        ({"ppo": {"tasks": [TASK, "miniwob/click-tes"]}}, "ppo.tasks[1]", f"did you mean {TASK}"),
        ({"ppo": {"tasks": [UNPROVEN]}}, "ppo.tasks", f"{UNPROVEN}: nothing is .* set ppo.unproven=true"),
        ({"explore": {"tasks": [UNPROVEN]}}, "explore.tasks", "set explore.unproven=true"),
        ({"collect": {"tasks": [UNPROVEN]}}, "collect.tasks", f"no oracle for {UNPROVEN}"),
        ({"sft": {"tasks": [HELD]}}, "sft.tasks", "never trained on"),
        ({"sft": {"perception_tasks": [HELD]}}, "sft.perception_tasks", "never trained on"),
        ({"sft": {"hard_tasks": ["miniwob/click-tab"]}}, "sft.hard_tasks", "must stand in 'tasks' too"),
        ({"pretrain": {"demonstration_tasks": [HELD]}}, "pretrain.demonstration_tasks", "never trained on"),
        ({"ppo": {"information_weight": 1.0}}, "ppo.information_weight", "has one written down"),
        (
            {"ppo": {"turn_limits": [9, 20], "turn_limit_every": 1}},
            "ppo.turn_limits",
            "end after .* turns anyway",
        ),
    ],
)
def test_what_a_phase_would_refuse_to_train_on_is_refused_at_once(
    over: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(InvalidField, match=said) as caught:
        checked_preset("smoke", over)
    assert caught.value.field == field


def test_what_can_be_measured_is_taken() -> None:
    for over in (
        {"promote": {"tasks": [TASK, HELD]}},
        {"evaluate": {"tasks": [HELD]}},
        {"evaluate": {"unproven": True}, "promote": {"tasks": [UNPROVEN_HELD]}},
        {"evaluate": {"split": "validation", "episodes": 5000}},
    ):
        checked_preset("smoke", over)


def test_a_shipped_round_is_promoted_by_held_out_tasks_too() -> None:
    config = checked_preset("unseen-tasks")
    assert config.promote.gate == "interval" and config.ppo is not None
    worked = config.ppo["tasks"]
    assert isinstance(worked, list) and set(config.promote.tasks) - HELD_OUT_TASKS == {*worked}
    assert set(config.promote.tasks) & HELD_OUT_TASKS


def test_a_task_with_one_start_state_has_to_have_it_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["family: fixed", "environment: {kind: desktop}", "tasks:"]
    for name in range(40):
        task = f"name: t{name}, description: D., instruction: I., verifier: {{name: game}}"
        lines.append(f"  - {{{task}}}")
    (tmp_path / "fixed.yaml").write_text("\n".join(lines))
    monkeypatch.setenv("DESKHAND_TASKS", str(tmp_path))
    named = {
        split: next(t for t in map("fixed/t{}".format, range(40)) if in_split(t, split)) for split in Split
    }
    test, validation = {"tasks": [named[Split.TEST]]}, {"tasks": [named[Split.VALIDATION]]}
    with pytest.raises(InvalidField, match=r"^evaluate.tasks\[0\].* no validation seeds; .*promote.tasks"):
        checked_preset("smoke", {"evaluate": {**test, "unproven": True}})
    with pytest.raises(InvalidField, match=r"^promote.tasks\[0\].* no validation seeds"):
        checked_preset("smoke", {"evaluate": {"unproven": True}, "promote": test})
    checked_preset("smoke", {"evaluate": {**test, "unproven": True}, "promote": validation})


def in_split(task: str, split: Split) -> bool:
    return split_of(task, 0) is split


async def test_a_round_with_such_tasks_never_begins(counting: Settings) -> None:
    async with platform(counting) as up:
        with pytest.raises(InvalidField) as caught:
            await up.services.rounds.start("smoke", {"promote": {"tasks": ["miniwob/click-tes"]}})
        assert caught.value.field == "promote.tasks[0]" and TASK in caught.value.suggestions
        assert await up.services.book.list() == ()


@pytest.mark.browser
def test_promotion_measures_held_out_tasks_by_seeds_that_nobody_reports(tmp_path: Path) -> None:
    over = {"evaluate": {"policy": "scripted"}, "promote": {"tasks": [TASK, HELD], "episodes": 2}}
    phases = plan(checked_preset("smoke", over), None, None)
    phase = next(one for one in phases if one.name == "validate-ppo")
    urls = {"store_url": f"sqlite+aiosqlite:///{tmp_path}/store.db", "blobs_url": f"file://{tmp_path}/blobs"}
    folder = tmp_path / phase.name
    folder.mkdir()
    spec = {"id": phase.name, "kind": phase.kind, "config": {**phase.config}, **urls}
    (folder / "spec.json").write_text(json.dumps(spec))
    assert _guarded(RunFolder(folder)) == FINISHED
    metrics = json.loads((folder / "result.json").read_text())["metrics"]
    assert metrics["success_sampled"] == 1.0 and metrics["episodes_sampled"] == 4

    async def worked() -> set[tuple[str, int, Split]]:
        async with await Store.open(*urls.values()) as store:
            ids = await store.trajectory_ids(TrajectoryFilter())
            starts = [t.start async for t in store.each_trajectory(ids)]
        return {(start.task.id, start.task.seed, start.split) for start in starts}

    own = {(TASK, seed, Split.VALIDATION) for seed in seeds(TASK, Split.VALIDATION, 2, VALIDATION_OFFSET)}
    far = HELD_OUT_VALIDATION_OFFSET + VALIDATION_OFFSET
    assert asyncio.run(worked()) == own | {(HELD, seed, Split.TEST) for seed in (far, far + 1)}
