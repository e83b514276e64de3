"""`deskhand flywheel`: from one home to another, and back to where a policy came from."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule
from deskhand_platform.settings import load_settings
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split


@pytest.fixture
def deskhand(tmp_path: Path, deskhand: Any) -> Any:
    """Runs a command at a home; what it printed."""

    def run(home: str, *arguments: str) -> str:
        ended = deskhand(*arguments, home=tmp_path / home)
        assert ended.status == 0, ended.err
        return ended.out

    return run


async def play(home: Path) -> str:
    """Three episodes, a dataset of them and a policy that learned from it; the policy's id."""
    settings = load_settings(home=home)
    async with (
        await Store.open(settings.db_url, settings.blobs_url) as store,
        SandboxManager({"fake": PoolSettings(max_sandboxes=2)}) as source,
    ):
        chosen = seeds("fake/press-button", Split.TRAIN, 3)
        jobs = [Job(task=make_task("fake/press-button", seed), labels={"run": "demo"}) for seed in chosen]
        await run_episodes(jobs, source=source, policy=ScriptedPolicy(), sink=store)
        await store.select_dataset("demo/sft", SelectionRule.SUCCESS)
        (home / "policy").mkdir()
        (home / "policy" / "config.json").write_text("{}")
        metadata = {"run": "demo-sft", "kind": "sft", "dataset": "demo/sft@1"}
        return (await store.keep_policy(home / "policy", parent_id=None, metadata=metadata)).id


def test_out_of_one_home_into_another_and_traced(tmp_path: Path, deskhand: Any) -> None:
    policy = asyncio.run(play(tmp_path / "one"))
    folder = str(tmp_path / "out")
    deskhand("one", "flywheel", "export", folder, "--dataset", "demo/sft", "--format", "osworld")
    assert "osworld: 3 new, 0 here already" in deskhand("two", "flywheel", "import", folder)
    assert "osworld: 0 new, 3 here already" in deskhand("two", "flywheel", "import", folder)
    assert deskhand("two", "trajectories", "list") == deskhand("one", "trajectories", "list")

    rules = tmp_path / "rules.yaml"
    rules.write_text("pool: {most_success: 0.9}\n")
    routed = deskhand("two", "flywheel", "route", str(rules), "--name", "in", "--label", "run=demo")
    assert [line.split() for line in routed.splitlines()[1:]] == [
        ["in/sft@1", "sft", "3"],
        ["in/rejected", "continued_pretraining", "0"],
        ["in/pool", "rl_pool", "0", "3", "difficulty"],
    ]

    drawn = deskhand("one", "flywheel", "lineage", policy).splitlines()
    assert drawn[0].startswith(f"policy {policy}, kind sft, run demo-sft")
    assert drawn[1].endswith("learned from: dataset demo/sft@1, 3 trajectories, kind sft")
    assert drawn[2].endswith("holds: 3 trajectories of one task by scripted, 3 succeeded")
    traced = json.loads(deskhand("one", "flywheel", "lineage", policy, "--json"))
    (dataset,) = traced["sources"]
    assert dataset["kind"] == "dataset" and len(dataset["sources"][0]["details"]["ids"]) == 3
