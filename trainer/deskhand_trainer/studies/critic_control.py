"""The critic's sabotage control: what it explains of real returns, and of shuffled ones (METHODS §6).

Episodes of a fixed policy are dealt into two parts. Value pretraining sees the first and stops by a held-out
share of it; explained variance is taken on the second, which decided nothing. Episodes that ran into their
limit are among them, and ended there, as they are where PPO pretrains: most failures are such.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import torch

from deskhand_agent.models.bundle import ModelBundle, load_bundle
from deskhand_agent.types import Trajectory
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_trainer.batches import with_rewards
from deskhand_trainer.estimates import turn_returns
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.types import Episode
from deskhand_trainer.value_config import ValuePretrainingConfig
from deskhand_trainer.value_pretraining import evaluate_value, first_states, pretrain_value
from deskhand_trainer.vlm import VlmActorCritic

TEST_SHARE = 0.3


def measure_critic(
    store_url: str, blobs_url: str, *, policy: str, run: str, seed: int, folder: Path
) -> dict[str, float]:
    """Explained variance on untouched episodes: "real" and "shuffled".

    Args:
        store_url, blobs_url: where the episodes are.
        policy: whose they are; its states are what the critic reads.
        run: label of the evaluation that left them.
        seed: of the deal and of the fit.
        folder: where the policy's files may be put.
    """
    return asyncio.run(_measure(store_url, blobs_url, policy, run, seed, folder))


async def _measure(
    store_url: str, blobs_url: str, policy: str, run: str, seed: int, folder: Path
) -> dict[str, float]:
    store = await Store.open(store_url, blobs_url)
    try:
        bundle = load_bundle(await store.materialise_policy(policy, folder / "policy"))
        ids = await store.trajectory_ids(TrajectoryFilter(labels={"run": run}, ended=True))
        whole = [t async for t in store.each_trajectory(ids, images=True) if t.steps and _judged(t)]
    finally:
        await store.close()
    episodes = [e for e in (episode_of(t, None) for t in whole) if e is not None]
    deal = torch.randperm(len(episodes), generator=torch.Generator().manual_seed(seed)).tolist()
    dealt = [episodes[i] for i in deal]
    shuffle = torch.Generator().manual_seed(seed + 1)
    return {
        "real": _explained(bundle, with_rewards(dealt, RewardRule()), seed),
        "shuffled": _explained(bundle, with_rewards(dealt, RewardRule(), shuffle=shuffle), seed),
        "episodes": float(len(dealt)),
        "test_episodes": float(round(TEST_SHARE * len(dealt))),
    }


def _explained(bundle: ModelBundle, episodes: Sequence[Episode], seed: int) -> float:
    count = round(TEST_SHARE * len(episodes))
    test, train = episodes[:count], episodes[count:]
    model = VlmActorCritic(bundle)
    pretrain_value(model, train, ValuePretrainingConfig(), gamma=1.0, seed=seed)
    return evaluate_value(model, first_states(model, test), turn_returns(test, gamma=1.0))[1]


def _judged(trajectory: Trajectory) -> bool:
    return trajectory.end is not None and trajectory.end.outcome is not None
