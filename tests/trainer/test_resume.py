"""Killed again and again, a loop goes on to the bit, on a recorded stream of batches: within an update, while
weights are published, between the files of a checkpoint, before it and after it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from deskhand_agent.models.bundle import ModelBundle
from deskhand_flywheel.store import Store
from deskhand_trainer import checkpoints, company, ppo
from deskhand_trainer.checkpoints import random_state
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.gathering import ROLLOUT
from deskhand_trainer.loop_state import PpoSetting
from deskhand_trainer.metrics import Reporter
from deskhand_trainer.ppo import PpoLoop
from deskhand_trainer.presets import method
from deskhand_trainer.rollouts import Collected
from deskhand_trainer.types import Episode

ITERATIONS = 10
"""Two deaths in each: 20 in all."""
LOST = ["update"] * 4 + ["publish"] * 3 + ["save"] * 2 + ["unsaved"]
"""Where the first one is: its iteration is done anew."""
KEPT = ["moved"] * 5 + ["saved"] * 5
"""Where the second one is: its iteration is kept."""
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """A batch that was played."""

    collected: Collected
    first: int
    """Seeds used before it."""
    used: int
    """By it."""


Recording = dict[tuple[str, int], Recorded]
"""By what it was for, and iterations done before it."""


def recording(loop: PpoLoop, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """What the loop is going to play."""
    play, recorded = loop.gather.batch, Recording()

    async def batch(purpose: str, episodes: int, *, oracle: bool = False) -> Collected:
        first = loop.cursor.seeds_used
        collected = await play(purpose, episodes, oracle=oracle)
        used = loop.cursor.seeds_used - first
        recorded[purpose, loop.cursor.iteration] = Recorded(collected, first, used)
        return collected

    monkeypatch.setattr(loop.gather, "batch", batch)
    return recorded


def playing(loop: PpoLoop, recorded: Recording, monkeypatch: pytest.MonkeyPatch) -> PpoLoop:
    """The loop on recorded batches: those of the seeds that it would play."""

    async def batch(purpose: str, episodes: int, *, oracle: bool = False) -> Collected:
        found = recorded[purpose, loop.cursor.iteration]
        assert loop.cursor.seeds_used == found.first
        loop.cursor.seeds_used += found.used
        return found.collected

    monkeypatch.setattr(loop.gather, "batch", batch)
    return loop


def counting(loop: PpoLoop, monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many minibatches each update is going to have, by iterations done before it."""
    step, steps = loop.learner._step, Counter[int]()  # pyright: ignore[reportPrivateUsage]

    def counted(*told: Any, **named: Any) -> None:
        steps[loop.cursor.iteration] += 1
        step(*told, **named)

    monkeypatch.setattr(loop.learner, "_step", counted)
    return steps


def drawn_death(loop: PpoLoop, kind: str, steps: int, draw: random.Random) -> tuple[Any, str, int, bool]:
    """Of whom which call of an iteration kills, from 1 on, and whether it has done its work by then.

    Args:
        steps: minibatches of its update.
    """
    pool, kept = loop.engine, checkpoints
    match kind:
        case "update":
            return loop.learner, "_step", draw.randint(1, steps), draw.random() < 0.5
        case "publish":
            taken = (pool, "update_weights", 1)
            return draw.choice([(company, "digest_of", 1, False), (*taken, False), (*taken, True)])
        case "save":
            # with tensors alone, without a manifest, and before the folder is moved into place
            tensors, state = (kept, "save_tensors", 1, True), (kept, "blake3", 2, False)
            return draw.choice([tensors, state, (kept, "_sync", 4, True)])
        case "moved":
            return kept, "_sync", 5, draw.random() < 0.5
        case _:
            return loop, "_checkpoint", 1, kind == "saved"


def dying(loop: PpoLoop, death: tuple[Any, str, int, bool], patched: pytest.MonkeyPatch) -> None:
    """Have the loop die so in its next iteration."""
    owner, name, number, after = death
    work, play = getattr(owner, name), loop.gather.batch
    begun, calls = False, 0

    async def batch(purpose: str, episodes: int, *, oracle: bool = False) -> Collected:
        nonlocal begun
        begun = purpose == ROLLOUT
        return await play(purpose, episodes, oracle=oracle)

    def dies(*told: Any, **named: Any) -> Any:
        nonlocal calls
        calls += begun
        if calls < number:
            return work(*told, **named)
        if after:
            work(*told, **named)
        raise Died

    patched.setattr(loop.gather, "batch", batch)
    patched.setattr(owner, name, dies)


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
    config, draw = CONFIGS[name], random.Random(name)
    recorder = make(config, "recorder")
    recorded = recording(recorder, monkeypatch)
    await recorder.train()
    assert sum(purpose == ROLLOUT for purpose, _ in recorded) == ITERATIONS

    torch.manual_seed(0)
    whole = playing(make(config, "whole"), recorded, monkeypatch)
    steps = counting(whole, monkeypatch)
    await whole.train()
    assert whole.learner.updates == ITERATIONS - config.critic_warmup
    assert whole.cursor.seeds_used == recorder.cursor.seeds_used >= ITERATIONS
    assert max(steps.values()) > 1, "there is no death between two minibatches"

    torch.manual_seed(0)
    lost, kept = (draw.sample(kinds, ITERATIONS) for kinds in (LOST, KEPT))
    for number in range(ITERATIONS):
        for kind in (lost[number], kept[number]):
            loop = playing(make(config, "killed"), recorded, monkeypatch)
            assert loop.cursor.iteration == number
            published = number >= config.critic_warmup
            kind = kind if published or kind != "publish" else "update"
            with monkeypatch.context() as patched, pytest.raises(Died):
                dying(loop, drawn_death(loop, kind, steps[number], draw), patched)
                await loop.train()
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
