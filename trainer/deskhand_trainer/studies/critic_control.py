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
from deskhand_trainer.batches import explained_variance, with_rewards
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.estimates import turn_returns
from deskhand_trainer.rewards import RewardRule
from deskhand_trainer.rollouts import episode_of
from deskhand_trainer.types import Episode
from deskhand_trainer.value_config import ValuePretrainingConfig
from deskhand_trainer.value_pretraining import TrunkSteps, pretrain_value, values_of
from deskhand_trainer.vlm import VlmActorCritic

TEST_SHARE = 0.3
SEPARATE = ValuePretrainingConfig(lr=3e-4, max_epochs=8)
"""Of a critic with a model of its own: tried on episodes of another policy."""


def measure_critic(
    store_url: str, blobs_url: str, *, policy: str, run: str, seed: int, folder: Path, separate: bool = False
) -> dict[str, float]:
    """Explained variance on untouched episodes: "real" and "shuffled" by a head, "separate" by a whole model.

    Args:
        store_url, blobs_url: where the episodes are.
        policy: whose they are; its states are what the critic reads.
        run: label of the evaluation that left them.
        seed: of the deal and of the fit.
        folder: where the policy's files may be put.
        separate: whether to fit a critic with a model of its own, too, to the real returns.
    """
    dealt, bundle = asyncio.run(_episodes(store_url, blobs_url, policy, run, seed, folder))
    real = with_rewards(dealt, RewardRule())
    shuffle = torch.Generator().manual_seed(seed + 1)
    found = {
        "real": _explained(bundle, real, seed),
        "shuffled": _explained(bundle, with_rewards(dealt, RewardRule(), shuffle=shuffle), seed),
        "episodes": float(len(dealt)),
        "test_episodes": float(round(TEST_SHARE * len(dealt))),
    }
    return found | ({"separate": _explained(bundle, real, seed, separate=True)} if separate else {})


async def _episodes(
    store_url: str, blobs_url: str, policy: str, run: str, seed: int, folder: Path
) -> tuple[list[Episode], ModelBundle]:
    """All that were judged, dealt out, and their policy."""
    store = await Store.open(store_url, blobs_url)
    try:
        bundle = load_bundle(await store.materialise_policy(policy, folder / "policy"))
        ids = await store.trajectory_ids(TrajectoryFilter(labels={"run": run}, ended=True))
        whole = [t async for t in store.each_trajectory(ids, images=True) if t.steps and _judged(t)]
    finally:
        await store.close()
    episodes = [e for e in (episode_of(t, None) for t in whole) if e is not None]
    deal = torch.randperm(len(episodes), generator=torch.Generator().manual_seed(seed)).tolist()
    return [episodes[i] for i in deal], bundle


def _explained(
    bundle: ModelBundle, episodes: Sequence[Episode], seed: int, *, separate: bool = False
) -> float:
    count = round(TEST_SHARE * len(episodes))
    test, train = episodes[:count], episodes[count:]
    model = VlmActorCritic(bundle, critic="separate" if separate else "head")
    config = SEPARATE if separate else ValuePretrainingConfig()
    run = PpoConfig(tasks=(), critic="separate", value_pretraining=config)
    trunk = TrunkSteps(model, run) if separate else None
    pretrain_value(model, train, config, gamma=1.0, seed=seed, trunk=trunk)
    with torch.no_grad():
        values = values_of(model, [s for e in test for s in e.samples], by_token=False)
    return explained_variance(values, turn_returns(test, gamma=1.0))


def _judged(trajectory: Trajectory) -> bool:
    return trajectory.end is not None and trajectory.end.outcome is not None
