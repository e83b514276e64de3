"""Killed again and again, a loop goes on to the bit: on a recorded stream of batches, after every checkpoint
and between any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.models.bundle import ModelBundle
from deskhand_flywheel.store import Store
from deskhand_trainer import ppo
from deskhand_trainer.checkpoints import random_state
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.rollouts import Collected
from deskhand_trainer.types import Episode

ITERATIONS = 10
"""Two deaths in each: 20 in all."""
BASE = PpoConfig(
    tasks=("fake/spot",), iterations=ITERATIONS, minutes=0.0, episodes_per_iteration=8, minibatch=8,
    concurrency=8, max_tokens=12, lr=1e-3, checkpoint_every=1, evaluate_every=1000, threads=1,
    value_pretraining=ValuePretrainingConfig(episodes=8, max_epochs=2),
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("unexamined")
CONFIGS = {
    "a critic of its own that begins, KL, shuffled rewards": replace(
        BASE, critic="separate", critic_lr=1e-4, critic_warmup=3, kl_coef=0.01, shuffled_rewards=True
    ),
    "replay, curriculum, entropy, self-imitation": replace(
        BASE,
        **{**method("dart").config, "rollouts": "batch"},
        entropy_coef=0.01,  # where all fail nothing else moves it
        entropy_smoothing=0.05,
        self_imitation=4,
        self_imitation_warmup=3,
        turn_limits=(1, 2, 3),
        turn_limit_every=3,
    ),
}
CLOCKS = ("elapsed_s", "environment_s", "inference_s", "training_s")


class Died(BaseException):
    """As SIGKILL: nobody catches it."""


@pytest.fixture
def make(store: Store, spot: Any, tiny: ModelBundle, tmp_path: Path) -> Callable[..., PpoLoop]:
    def made(config: PpoConfig, folder: str) -> PpoLoop:
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        return PpoLoop(
            PpoSetting(
                run_id=folder, config=config, bundle=tiny.clone(), policy_id="tiny", store=store, source=spot,
                reporter=Reporter(store, subject=f"run:{folder}", folder=path / "board"), folder=path,
                progress=lambda phase, done, total: None, labels={},
            )
        )  # fmt: skip

    return made


def playing(loop: PpoLoop, recorded: list[Collected], monkeypatch: pytest.MonkeyPatch) -> PpoLoop:
    """The loop on recorded batches, each by its number."""

    async def iteration() -> Collected:
        return recorded[loop.cursor.iteration]

    async def batch(purpose: str, episodes: int, *, oracle: bool = False) -> Collected:
        return recorded[0]

    monkeypatch.setattr(loop.gather, "iteration", iteration)
    monkeypatch.setattr(loop.gather, "batch", batch)
    return loop


def everything(loop: PpoLoop) -> dict[str, Any]:
    """All that decides how it would go on."""
    cursor = {name: value for name, value in asdict(loop.cursor).items() if name not in CLOCKS}
    learner = loop.learner.state()
    for group in learner["actor_optimizer"]["param_groups"]:
        del group["lr"]  # given anew with each update
    return {
        "learner": learner,
        "cursor": cursor,
        "replay": loop.successes.ids(),
        "waiting": loop.successes.waiting,
        "shuffle": loop.shuffle.get_state(),
        "rng": random_state(),
    }


def assert_same(one: Any, other: Any, where: str = "") -> None:
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}/{index}")
    else:
        assert one == other, where


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name.startswith("a critic of its own") else [])
        for name in CONFIGS
    ],
)
async def test_twenty_deaths_change_no_bit(
    make: Callable[..., PpoLoop], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    config = CONFIGS[name]
    recorder = make(config, "recorder")
    recorded: list[Collected] = []
    learn = recorder._learn  # pyright: ignore[reportPrivateUsage]

    async def noting(collected: Collected, lr: float) -> Any:
        recorded.append(collected)
        return await learn(collected, lr)

    monkeypatch.setattr(recorder, "_learn", noting)
    await recorder.train()
    assert len(recorded) == ITERATIONS

    torch.manual_seed(0)
    whole = playing(make(config, "whole"), recorded, monkeypatch)
    await whole.train()
    assert whole.learner.updates == ITERATIONS - config.critic_warmup

    torch.manual_seed(0)
    deaths = 0
    for number in range(ITERATIONS):
        for saved in (False, True):
            loop = playing(make(config, "killed"), recorded, monkeypatch)
            save = loop._checkpoint  # pyright: ignore[reportPrivateUsage]

            def dying(
                loop: PpoLoop = loop, save: Any = save, number: int = number, saved: bool = saved
            ) -> None:
                last = loop.cursor.iteration == number + 1
                if not last or saved:
                    save()
                if last:
                    raise Died

            monkeypatch.setattr(loop, "_checkpoint", dying)
            with pytest.raises(Died):
                await loop.train()
            assert loop.cursor.iteration == number + 1
            deaths += 1
    assert deaths == 20
    resumed = playing(make(config, "killed"), recorded, monkeypatch)
    assert resumed.cursor.iteration == ITERATIONS
    assert_same(everything(resumed), everything(whole))


async def test_beside_replay_self_imitation_keeps_to_its_own_number(
    make: Callable[..., PpoLoop], an_episode: Episode
) -> None:
    (turn,) = an_episode.samples
    won = [
        replace(an_episode, outcome=1.0, success=True, samples=(replace(turn, trajectory_id=name),))
        for name in "wxyz"
    ]
    loop = make(replace(BASE, replay=4, self_imitation=2), "run")
    loop.engine.close()
    loop.successes = loop.successes.stored(won)
    loop.cursor.iteration = loop.config.self_imitation_warmup
    again = loop._imitated([an_episode])  # pyright: ignore[reportPrivateUsage]
    assert [s.trajectory_id for s in again] == ["y", "z"]
    assert len(loop.successes.of_task["t"]) == 4


async def test_what_a_stored_success_brought_to_light_is_resumed_with_it(
    make: Callable[..., PpoLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy that said how likely the answer was has moved on: it is kept, not asked again."""
    config = replace(BASE, replay=4, information_weight=1.0, episodes_per_iteration=4)
    loop = make(config, "run")

    def informed(episodes: Sequence[Episode], *_: object) -> list[Episode]:
        return [
            replace(e, success=True, information_gains=tuple(number + n / 8 for n in range(len(e.samples))))
            for number, e in enumerate(episodes, 1)
        ]

    monkeypatch.setattr(ppo, "informed", informed)
    episodes = await loop._episodes(await loop.gather.batch("rollout", 4))  # pyright: ignore[reportPrivateUsage]
    loop.successes = loop.successes.stored(episodes)
    loop._checkpoint()  # pyright: ignore[reportPrivateUsage]
    resumed = make(config, "run")
    await resumed._restore_episodes()  # pyright: ignore[reportPrivateUsage]
    assert resumed.successes.gains() == {e.trajectory_id: list(e.information_gains) for e in episodes}
    assert resumed.successes.ids() == loop.successes.ids()
    assert resumed.successes.waiting == loop.successes.waiting != {}
    for each in (loop, resumed):
        each.engine.close()
