"""A round's table: success before and after each training phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deskhand_platform.rounds.book import PhaseRecord, RoundRecord
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue

LABELS = {
    "evaluate-untrained": "before SFT",
    "evaluate-start": "start",
    "evaluate-sft": "after SFT",
    "evaluate-rejection": "after fine-tuning",
    "evaluate-ppo": "after PPO",
}
"""Evaluation phases, by name, and what their line is called."""
TRAINING = ("collect", "pretrain", "sft", "ppo")


@dataclass(frozen=True, kw_only=True, slots=True)
class SuccessRate:
    """A success rate with its 95 % Wilson interval."""

    success: float
    low: float
    high: float
    episodes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the table."""

    label: str
    policy_id: str | None
    sampled: SuccessRate | None
    greedy: SuccessRate | None
    training_episodes: int
    """Episodes the round trained on before this evaluation."""
    minutes: float
    """Wall clock of the round's collecting and training before this evaluation."""


def rows(record: RoundRecord) -> tuple[Row, ...]:
    """The lines that can be filled by now, in the order of the phases."""
    found: list[Row] = []
    episodes, seconds = 0, 0.0
    for phase in record.phases:
        if phase.kind in TRAINING:
            episodes += int(_number(phase.metrics, "episodes") or 0)
            seconds += phase.seconds or 0.0
        if phase.name in LABELS and phase.state is WorkState.DONE:
            found.append(_row(phase, episodes, seconds))
    return tuple(found)


def rate(metrics: Mapping[str, JsonValue], measure: str) -> SuccessRate | None:
    """`success_<measure>` with its interval from a run's figures; None when it was not measured."""
    success = _number(metrics, f"success_{measure}")
    low, high = _number(metrics, f"success_{measure}_low"), _number(metrics, f"success_{measure}_high")
    episodes = _number(metrics, f"episodes_{measure}") or _number(metrics, "episodes")
    if success is None or low is None or high is None:
        return None
    return SuccessRate(success=success, low=low, high=high, episodes=int(episodes or 0))


def _row(phase: PhaseRecord, episodes: int, seconds: float) -> Row:
    return Row(
        label=LABELS.get(phase.name, phase.name),
        policy_id=phase.policy_in,
        sampled=rate(phase.metrics, "sampled"),
        greedy=rate(phase.metrics, "greedy"),
        training_episodes=episodes,
        minutes=seconds / 60,
    )


def _number(metrics: Mapping[str, JsonValue], name: str) -> float | None:
    value = metrics.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
