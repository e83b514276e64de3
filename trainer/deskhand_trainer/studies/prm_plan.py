"""What the process reward model's study is told: the plan, and each run of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from deskhand_agent.test_time.settings import Deliberation
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import CollectConfig, EvaluateConfig, LabelConfig, PpoConfig, ScoreConfig
from deskhand_trainer.studies.base import MAX_TOKENS
from deskhand_trainer.studies.ladder_plan import RUNGS, ArmSpec, Rung, arm_config, start_config
from deskhand_trainer.studies.runs import run_id

SCORING_S = 3600.0
"""For an iteration's episodes in the reward's arms: where scores come late, an arm would go without them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is done: as registered, and as amended after the first measurement (`model` and the tries)."""

    tasks: tuple[str, ...] = (
        "miniwob/ascending-numbers",
        "miniwob/choose-list",
        "miniwob/click-button-sequence",
        "miniwob/click-checkboxes",
        "miniwob/click-collapsible",
        "miniwob/click-collapsible-2-nodelay",
        "miniwob/click-color",
        "miniwob/click-dialog-2",
        "miniwob/click-link",
        "miniwob/click-option",
        "miniwob/click-tab-2",
        "miniwob/click-tab-2-medium",
        "miniwob/click-test-2",
        "miniwob/click-widget",
        "miniwob/count-shape",
        "miniwob/enter-text",
        "miniwob/focus-text-2",
        "miniwob/grid-coordinate",
        "miniwob/identify-shape",
        "miniwob/navigate-tree",
    )
    """Labelled and trained on: some of several turns, some that the policy does now and then."""
    unseen: tuple[str, ...] = tuple(sorted(HELD_OUT_TASKS))
    episodes: int = 16
    """Start states of each task."""
    tries: int = 4
    """At each of those that are learned from: they share what the start is worth, so that a first step that
    ends an episode is labelled at no further cost."""
    unseen_tries: int = 2
    """At each of those that are measured on."""
    continuations: int = 8
    longest: int = 8
    """Steps of the longest episodes that are labelled: from each state of one, others go on to their end."""
    max_tokens: int = MAX_TOKENS
    """Of a reply; one that is cut ends the episode."""
    model: ScoreConfig = field(
        default_factory=lambda: ScoreConfig(
            labels=("monte-carlo",), epochs=10, dropout=0.95, max_trajectories=4096, minutes=60.0
        )
    )
    """How the model is trained, here and for the reward; chosen by trying on the labels of tasks that are
    trained on, some of them kept apart: shown more of the states, the head fitted their noise."""
    candidates: int = 4
    """Of which the verifier chooses."""
    judged_episodes: int = 50
    """Of each task, with and without it."""
    rung: Rung = RUNGS[0]
    """Task, start and size of the arms."""
    played: int = 96
    """Episodes that the reward's model learns from."""
    reward_continuations: int = 4
    process_weight: float = 0.5
    concurrency: int = 16


def reward_settings(plan: Plan, seed: int) -> dict[str, Any]:
    """What each run of one seed of the reward's part is told, but for what labelling comes to."""
    rung, (outcome, process) = plan.rung, arms(plan, seed)
    return {
        "demonstrations": CollectConfig(tasks=(rung.task,), episodes_per_task=rung.demonstrations),
        "start": start_config(rung, seed),
        "played": CollectConfig(
            tasks=(rung.task,),
            policy="local",
            episodes_per_task=plan.played,
            max_tokens=rung.max_tokens,
            concurrency=rung.concurrency,
            seed=seed,
            # behind those of every arm
            seed_offset=400_000 + seed * plan.played,
        ),
        "labels": LabelConfig(
            tasks=(rung.task,),
            runs=(run_id(f"reward/{seed}/played"),),
            continuations=plan.reward_continuations,
            max_tokens=rung.max_tokens,
            concurrency=rung.concurrency,
        ),
        "model": plan.model,
        "outcome": outcome,
        "process": process,
    }


def arms(plan: Plan, seed: int) -> tuple[PpoConfig, PpoConfig]:
    """Paid for outcomes alone, and for process scores too; alike in everything else."""
    rung = replace(plan.rung, environment_weight=0.0)
    outcome = replace(
        arm_config(ArmSpec(rung=rung, arm="turn-ppo", seed=seed)),
        evaluate_every=4,
        validation_episodes=128,
        scoring_s=SCORING_S,
    )
    return outcome, replace(outcome, process_weight=plan.process_weight)


def verifying(plan: Plan, test_time: Deliberation) -> EvaluateConfig:
    """How the policy works with and without a verifier."""
    return EvaluateConfig(
        tasks=plan.tasks,
        unproven=True,
        episodes=plan.judged_episodes,
        modes=("sampled",),
        targets=False,
        max_tokens=plan.max_tokens,
        concurrency=plan.concurrency,
        test_time=test_time,
    )
