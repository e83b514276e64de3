"""`deskhand flywheel fsck` and `gc` as a person or a program types it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.rounds.runs import write_spec
from deskhand_platform.settings import Settings
from deskhand_trainer.runs import RunKind, RunSpec

Record = Callable[..., Awaitable[str]]
Beside = Callable[..., Awaitable[Any]]


async def test_a_lost_picture_is_an_exit_status_and_a_row(
    settings: Settings, store: Store, record_episode: Record, beside: Beside
) -> None:
    episode = await record_episode(store)
    sound = await beside("flywheel", "fsck")
    assert (sound.status, sound.out.splitlines()[-1]) == (0, "found: nothing"), sound.err
    digest = (await store.trajectory(episode)).steps[0].observation.screenshot.digest
    (settings.home / "blobs" / digest[:2] / digest).unlink()
    lost = await beside("flywheel", "fsck")
    assert lost.status == 1
    assert digest in lost.out and f"cited by step 0 of trajectory {episode}" in lost.out
    assert lost.out.splitlines()[-1] == "found: 1 missing_blob"
    told = json.loads((await beside("flywheel", "fsck", "--json")).out)
    assert (told["ok"], told["counts"], told["trajectories"]) == (False, {"missing_blob": 1}, 1)
    assert told["findings"][0]["subject"] == digest


async def test_garbage_is_collected_only_when_told_to_and_not_under_a_run(
    settings: Settings, store: Store, record_episode: Record, beside: Beside
) -> None:
    free, needed = await record_episode(store), await record_episode(store, run="ppo-1")
    write_spec(
        settings.runs / "ppo-1",
        RunSpec(
            id="ppo-1",
            kind=RunKind.PPO,
            config={},
            store_url=settings.db_url,
            blobs_url=settings.blobs_url,
            policy_in=None,
            prm_in=None,
            dataset=None,
            labels={},
        ),
    )
    rule = settings.home / "rule.yaml"
    rule.write_text("drop:\n  - older_than_days: 0\norphans_after_hours: 0\n")
    plan = await beside("flywheel", "gc", "--rule", str(rule))
    assert plan.status == 0, plan.err
    assert "would drop: 1 trajectories of 2 steps" in plan.out
    assert "kept: 1 trajectories by a run that has not finished" in plan.out
    assert "--apply" in plan.err
    done = json.loads((await beside("flywheel", "gc", "--rule", str(rule), "--apply", "--json")).out)
    assert (done["applied"], done["trajectories"]) == (True, [free])
    assert await store.trajectory_ids() == (needed,)
    assert (await beside("flywheel", "fsck")).status == 0


@pytest.mark.parametrize("text", ["drop: 7", "- a", "drop: [", "drop: " + "[" * 5000, ""])
def test_a_rule_that_cannot_be_read_is_a_usage_error(
    settings: Settings, deskhand: Callable[..., Any], text: str
) -> None:
    rule = settings.home / "rule.yaml"
    rule.write_text(text)
    refused = deskhand("flywheel", "gc", "--rule", str(rule), "--apply")
    assert refused.status == 2 and "--rule" in refused.err and "Traceback" not in refused.err
