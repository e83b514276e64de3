"""What the ladder compares: its rungs, its arms, and what each is told; see `ladder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from deskhand_agent.memory import Screens
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_trainer.config import EvaluateConfig, PpoConfig, ValuePretrainingConfig
from deskhand_trainer.presets import method
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.studies.ladder_figures import CONTROL

Arm = Literal[
    "turn-ppo", "ppo", "grpo", "rebn", "st-ppo", "unpretrained", "bilevel", "shuffled",
    "critic-5", "critic-50", "critic-500",
]  # fmt: skip
ARMS: tuple[Arm, ...] = get_args(Arm)
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "unpretrained": {"value_pretraining": ValuePretrainingConfig(enabled=False)},
    CONTROL: {"shuffled_rewards": True},
    "critic-5": {"critic_lr": 5e-4},
    "critic-50": {"critic_lr": 5e-3},
    "critic-500": {"critic_lr": 5e-2},
}
"""Arms that are turn-PPO but for this."""
CRITIC_RATES: tuple[Arm, ...] = ("critic-5", "critic-50", "critic-500")
"""Compared with one another alone, from starts of their own."""
ON_THE_FIRST = (CONTROL, *CRITIC_RATES)
"""Arms of the first rung alone, of whose rate those of the critic are multiples."""
TEST_EPISODES, CONTROL_EPISODES = 256, 1024
SEED_SPACING = 20_000
"""Training seeds of study seed k begin (k + 1)·SEED_SPACING into the train split, demonstrations at 0: no two
overlap."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """A task of the ladder and what all its arms share."""

    name: str
    task: str
    policy: str | None
    """What every start is made of; None: a new model."""
    demonstrations: int
    """That every start imitates; 0: the policy is the start."""
    turns: int
    """In sandboxes, for every arm."""
    max_tokens: int
    """Longest reply."""
    screens: Screens | None
    """What the policy is shown; None: the picture."""
    environment_weight: float
    """Of the environment's own rewards."""
    concurrency: int
    batch: int
    """Episodes of an iteration."""
    minibatch: int
    """Turns of an optimizer step."""
    lr: float
    freeze: Literal["nothing", "vision"] = "nothing"
    cloning_epochs: int = 4


RUNGS = (
    Rung(
        name="sokoban",
        task="worlds/sokoban-6x6-1",
        policy=None,
        demonstrations=200,
        cloning_epochs=8,
        turns=40_000,
        max_tokens=12,
        screens="text",
        environment_weight=1.0,
        concurrency=32,
        batch=128,
        minibatch=128,
        lr=1e-4,
    ),
    Rung(
        name="checkboxes",
        task="miniwob/click-checkboxes",
        policy=DESKHAND_TINY,
        demonstrations=0,
        turns=4_000,
        max_tokens=12,
        screens=None,
        environment_weight=0.0,
        concurrency=16,
        batch=64,
        minibatch=64,
        lr=3e-4,
        freeze="vision",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSpec:
    """One run of one arm."""

    rung: Rung
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{self.rung.name}/{self.arm}-{self.seed}"

    @property
    def start(self) -> str:
        """Folder of the policy it begins from."""
        return f"{self.rung.name}/start-{self.seed}"


def arms_of(rungs: Sequence[Rung], arms: Sequence[Arm], seeds: Sequence[int]) -> list[ArmSpec]:
    """Every run, a seed at a time, so that what is done is always comparable; some on the first rung."""
    return [
        ArmSpec(rung=rung, arm=arm, seed=seed)
        for rung in rungs
        for seed in seeds
        for arm in arms
        if arm not in ON_THE_FIRST or rung is RUNGS[0]
    ]


def start_config(rung: Rung, seed: int) -> SftConfig:
    """How the policy that every arm of a seed begins from is made."""
    return SftConfig(
        tasks=(rung.task,),
        demonstrations_per_task=rung.demonstrations,
        screens=rung.screens,
        perception_tasks=(),
        cloning_epochs=rung.cloning_epochs,
        seed=seed,
    )


def arm_config(spec: ArmSpec) -> PpoConfig:
    """What an arm is told: what all share, and its preset."""
    rung = spec.rung
    shared = PpoConfig(
        tasks=(rung.task,),
        minutes=0.0,
        iterations=100_000,
        environment_steps=rung.turns,
        episodes_per_iteration=rung.batch,
        minibatch=rung.minibatch,
        value_pretraining=ValuePretrainingConfig(episodes=128),
        environment_weight=rung.environment_weight,
        lr=rung.lr,
        freeze=rung.freeze,
        max_tokens=rung.max_tokens,
        concurrency=rung.concurrency,
        threads=1,
        evaluate_every=8,
        seed=spec.seed,
        seed_offset=(spec.seed + 1) * SEED_SPACING,
    )
    preset = method("turn-ppo" if spec.arm in VARIANTS else spec.arm).config
    return replace(shared, **preset, **VARIANTS.get(spec.arm, {}))


def evaluation(spec: ArmSpec, *, control: bool) -> EvaluateConfig:
    """How a policy is measured, before and after."""
    return EvaluateConfig(
        tasks=(spec.rung.task,),
        episodes=CONTROL_EPISODES if control else TEST_EPISODES,
        modes=("sampled",) if control else ("sampled", "greedy"),
        max_tokens=spec.rung.max_tokens,
        concurrency=spec.rung.concurrency,
        targets=False,
        seed=spec.seed,
    )
