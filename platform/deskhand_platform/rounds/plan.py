"""Which phases a round has: worked out once, when it begins, from its config and what there is to start from.

  untrained: evaluate collect curate sft evaluate explore curate score ppo curate evaluate validate … promote
  trained:   evaluate explore curate pretrain rejection evaluate score ppo curate evaluate validate … promote

What was explored is routed: failures to continued pretraining, successes to rejection fine-tuning, all of it
to the pool that the reward model learns from, and PPO where it takes recorded episodes beside its own. So is
what PPO played, for whoever trains later.

The process reward model is trained after the warm start: before it there are only demonstrations, all of them
successes, and no trunk that sees anything. "evaluate-…" phases fill the table from test seeds; "validate-…"
phases, on validation seeds, are what promotion looks at (of held-out tasks, which have none, on test seeds
far behind the others); a policy promoted before is among them wherever the round does not start from it, so
that a fresh start never takes the place of something better.
"""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_platform.rounds.config import Config, RoundConfig
from deskhand_sandbox.types import JsonValue

VALIDATE_START, VALIDATE_PROMOTED = "validate-start", "validate-promoted"
"""Phases that measure what the round's own policies have to be better than."""
VALIDATION_OFFSET = 5_000
"""Where promotion's validation seeds begin: far from those by which a run chooses its checkpoint."""

UNTRAINED_EPISODES = 64
"""Per task and mode, for the row of the table that shows random weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhasePlan:
    """One phase to be done."""

    name: str
    """Unique in its round. After "evaluate-" and "validate-" stands which policy is meant."""
    kind: str
    """A `RunKind`, or "curate" or "promote"."""
    config: Config
    """Of the run; empty for the two that are none."""
    policy_in: str | None = None
    """What it works with where the plan says so already; otherwise it depends on the phases before."""


def plan(config: RoundConfig, policy_in: str | None, promoted: str | None) -> tuple[PhasePlan, ...]:
    """The round's phases in order.

    Args:
        policy_in: what the round starts from; None: random weights.
        promoted: the policy promoted last; None when there is none.
    """
    untrained = policy_in is None
    phases = _run("evaluate-start", "evaluate", config.evaluate)
    if untrained:
        phases = _run("evaluate-untrained", "evaluate", _glance(config.evaluate))
    if untrained and config.collect is not None:
        phases += _run("collect", "collect", config.collect) + _own("curate")
    if untrained and config.sft is not None:
        phases += _run("sft", "sft", config.sft) + _run("evaluate-sft", "evaluate", config.evaluate)
    if config.explore is not None:
        phases += _run("explore", "collect", config.explore) + _own("curate-explored")
    if not untrained:
        phases += _run("pretrain", "pretrain", config.pretrain) + _run("rejection", "sft", config.rejection)
        if config.rejection is not None:
            phases += _run("evaluate-rejection", "evaluate", config.evaluate)
    phases += _run("label", "label", config.label)
    phases += _run("score", "score", config.score) + _run("ppo", "ppo", config.ppo)
    if config.ppo is not None:
        phases += _own("curate-practised") + _run("evaluate-ppo", "evaluate", config.evaluate)
    rival = promoted if promoted != policy_in else None
    return phases + _validations(config, policy_in, rival) + _own("promote")


def _glance(config: Config | None) -> Config | None:
    """Fewer episodes, for random weights: they succeed by luck and take every turn there is."""
    if config is None:
        return None
    episodes = config.get("episodes", UNTRAINED_EPISODES)
    assert isinstance(episodes, int)
    return {**config, "episodes": min(episodes, UNTRAINED_EPISODES)}


def promotion_settings(config: RoundConfig) -> Config | None:
    """What the runs that promotion goes by are told (`EvaluateConfig`); None where nothing is measured."""
    if config.evaluate is None:
        return None
    chosen: dict[str, JsonValue] = {
        **config.evaluate,
        "split": "validation",
        "modes": [config.promote.measure],
        "episodes": config.promote.episodes,
        "seed_offset": VALIDATION_OFFSET,
        "targets": False,
    }
    if config.promote.tasks:
        chosen["tasks"] = [*config.promote.tasks]
    return chosen


def _validations(config: RoundConfig, policy_in: str | None, rival: str | None) -> tuple[PhasePlan, ...]:
    chosen = promotion_settings(config)
    if chosen is None:
        return ()
    old = {VALIDATE_PROMOTED: rival, VALIDATE_START: policy_in}
    warm = ("sft", config.sft) if policy_in is None else ("rejection", config.rejection)
    made = {f"validate-{name}": run for name, run in (warm, ("ppo", config.ppo))}
    phases = [(name, policy) for name, policy in old.items() if policy is not None]
    phases += [(name, None) for name, run in made.items() if run is not None]
    return tuple(
        PhasePlan(name=name, kind="evaluate", config=chosen, policy_in=policy) for name, policy in phases
    )


def _run(name: str, kind: str, config: Config | None) -> tuple[PhasePlan, ...]:
    return () if config is None else (PhasePlan(name=name, kind=kind, config=config),)


def _own(name: str) -> tuple[PhasePlan, ...]:
    return (PhasePlan(name=name, kind=name.split("-")[0], config={}),)
