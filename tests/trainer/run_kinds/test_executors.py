"""Runs of a policy that plans: whose executor it is, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.memory import WindowMemory
from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_trainer.presets import method
from deskhand_trainer.run import _guarded
from deskhand_trainer.run_folder import RunFolder
from deskhand_trainer.run_process import FINISHED, REFUSED

TASK = "worlds/chain"
FLOW: dict[str, Any] = {
    **method("agent-flow").config, "tasks": [TASK], "iterations": 1, "episodes_per_iteration": 8,
    "minibatch": 16,
    "validation_episodes": 2, "max_tokens": 4, "plan_tokens": 3, "threads": 1, "screens": "text",
}  # fmt: skip


def urls(home: Path) -> tuple[str, str]:
    return f"sqlite+aiosqlite:///{home}/store.db", f"file://{home}/blobs"


def run(home: Path, name: str, kind: str, config: dict[str, Any], policy_in: str | None) -> tuple[int, str]:
    """How it ended, and the policy that came out or why it was refused."""
    folder = home / name
    folder.mkdir()
    store_url, blobs_url = urls(home)
    spec = {"id": name, "kind": kind, "config": config, "store_url": store_url, "blobs_url": blobs_url}
    (folder / "spec.json").write_text(json.dumps(spec | ({"policy_in": policy_in} if policy_in else {})))
    ended = _guarded(RunFolder(folder))
    if ended == REFUSED:
        return ended, str(json.loads((folder / "error.json").read_text())["message"])
    return ended, str(json.loads((folder / "result.json").read_text())["policy_out"])


async def keep(home: Path, bundle: ModelBundle, **metadata: str) -> str:
    folder = home / f"kept-{bundle.memory.plan_tokens}"
    save_bundle(bundle, folder)
    async with await Store.open(*urls(home)) as store:
        return (await store.keep_policy(folder, parent_id=None, metadata=dict(metadata))).id


async def executors(home: Path, name: str) -> tuple[set[str], set[str]]:
    """Of a run's episodes: whose plans, and who carried them out."""
    async with await Store.open(*urls(home)) as store:
        ids = await store.trajectory_ids(TrajectoryFilter(labels={"run": name}))
        every = [t async for t in store.each_trajectory(ids)]
    done = [step.decision.execution for t in every for step in t.steps]
    return {t.start.policy_id for t in every}, {each.policy_id if each else "nobody" for each in done}


def test_the_start_policy_executes_and_goes_on_to_wherever_the_planner_goes(
    tmp_path: Path, tiny: ModelBundle
) -> None:
    start = asyncio.run(keep(tmp_path, tiny))
    ended, planner = run(tmp_path, "flow", "ppo", FLOW, start)
    assert ended == FINISHED, planner

    async def described() -> Any:
        async with await Store.open(*urls(tmp_path)) as store:
            return (await store.policy(planner)).metadata["executor"]

    assert asyncio.run(described()) == start
    assert asyncio.run(executors(tmp_path, "flow")) == ({start}, {start})
    told = {"tasks": [TASK], "episodes": 2, "modes": ["greedy"], "max_tokens": 4}
    assert run(tmp_path, "eval", "evaluate", told, planner)[0] == FINISHED
    assert asyncio.run(executors(tmp_path, "eval")) == ({planner}, {start})
    # learning goes on with the same one, though nobody names it again
    ended, _ = run(tmp_path, "more", "ppo", {**FLOW, "plan_tokens": None}, planner)
    assert ended == FINISHED and asyncio.run(executors(tmp_path, "more")) == ({planner}, {start})


@pytest.mark.parametrize(
    ("kind", "told", "plans", "why"),
    [
        ("ppo", {**FLOW, "executor": "policy-none"}, False, "the policy policy-none cannot be used"),
        ("ppo", {"tasks": [TASK], "executor": "policy-1"}, False, "the policy acts itself"),
        ("ppo", FLOW, True, "plans too: name a policy that acts"),
        ("ppo", FLOW, None, "the run begins with no kept policy: name one that acts"),
        ("evaluate", {"tasks": [TASK], "executor": "policy-1"}, False, "the policy acts itself"),
        ("collect", {"tasks": [TASK], "executor": "policy-1"}, False, "the scripted policy says no plans"),
        (
            "ppo",
            {**FLOW, "algorithm": "cloning", "advantage": "turn", "normalisation": "batch"},
            False,
            "cloning imitates actions",
        ),
        (
            "sft",
            {"tasks": [TASK], "perception_tasks": [], "demonstrations_per_task": 0},
            True,
            "demonstrations hold actions: start from one that acts",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    tmp_path: Path, tiny: ModelBundle, kind: str, told: dict[str, Any], plans: bool | None, why: str
) -> None:
    if plans:
        tiny.memory = WindowMemory(plan_tokens=4)
    kept = asyncio.run(keep(tmp_path, tiny)) if plans is not None else None
    ended, said = run(tmp_path, "refused", kind, told, kept)
    assert ended == REFUSED and why in said
