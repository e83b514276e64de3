"""The critic's control reads all episodes that were judged, those that ran into their limit too."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from deskhand_agent.models.bundle import ModelBundle, save_bundle
from deskhand_agent.models.engine import LocalEngine
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.types import StopReason
from deskhand_agent.worker import WorkerSettings
from deskhand_flywheel.store import Store
from deskhand_sandbox.types import Split
from deskhand_trainer.rollouts import collect, jobs_of, seed_ranges
from deskhand_trainer.studies.critic_control import measure_critic


def test_episodes_that_ran_into_their_limit_are_among_its_failures(
    spot: Any, tiny: ModelBundle, tmp_path: Path
) -> None:
    url, blobs = f"sqlite+aiosqlite:///{tmp_path}/store.db", f"file://{tmp_path}/blobs"
    save_bundle(tiny, tmp_path / "model")

    async def play() -> tuple[str, Counter[StopReason]]:
        async with await Store.open(url, blobs) as store:
            kept = await store.keep_policy(tmp_path / "model", parent_id=None, metadata={})
            engine = LocalEngine(tiny, policy_id=kept.id)
            policy = LocalPolicy(bundle=tiny, engine=engine, policy_id=kept.id)
            ranges = seed_ranges(("fake/spot",), Split.TEST, episodes=20, offset=0)
            try:
                # a model that learned nothing writes no action: void turns until the limit
                played = await collect(
                    jobs_of(ranges, labels={"run": "control"}),
                    policy=policy,
                    source=spot,
                    sink=store,
                    settings=WorkerSettings(concurrency=8, void_limit=9),
                    owner="t",
                )
            finally:
                await asyncio.to_thread(engine.close)
        return kept.id, Counter(t.end.stop_reason for t in played.trajectories if t.end is not None)

    policy, ends = asyncio.run(play())
    assert ends[StopReason.TURN_LIMIT] > 10
    found = measure_critic(url, blobs, policy=policy, run="control", seed=0, folder=tmp_path, separate=True)
    assert (found["episodes"], found["test_episodes"]) == (20.0, 6.0)
    assert set(found) == {"real", "shuffled", "separate", "episodes", "test_episodes"}
