from __future__ import annotations

from typing import Any

import pytest

from deskhand_trainer.config import (
    CollectConfig,
    EvaluateConfig,
    PpoConfig,
    ScoreConfig,
    SftConfig,
    parse_config,
)
from deskhand_trainer.errors import ConfigError

BY_TOKENS = {"advantage": "token", "ratio": "token", "gamma": 0.9}


@pytest.mark.parametrize("cls", [CollectConfig, ScoreConfig, SftConfig, PpoConfig, EvaluateConfig])
def test_defaults_stand_alone(cls: type[Any]) -> None:
    assert parse_config(cls, {}) == cls()


def test_reads_every_kind_of_field() -> None:
    got = parse_config(
        PpoConfig,
        {
            "tasks": ["miniwob/click-test", "miniwob/click-dialog"],
            "lambda_policy": "adaptive",
            "lr": 1,
            "betas": [0.8, 0.9],
            "value_clip": None,
            "value_pretraining": {"enabled": False, "max_epochs": 3},
        },
    )
    assert got.tasks == ("miniwob/click-test", "miniwob/click-dialog")
    assert (got.lambda_policy, got.betas, got.value_clip) == ("adaptive", (0.8, 0.9), None)
    assert isinstance(got.lr, float)
    assert not got.value_pretraining.enabled
    assert got.value_pretraining.patience == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"clip_hgih": 0.3}, r"unknown field 'clip_hgih'; did you mean clip_high"),
        ({"zzz": 1}, r"unknown field 'zzz'; there are: advantage"),
        ({"epochs": "2"}, r"field 'epochs' must be a whole number, got '2'"),
        ({"epochs": True}, r"field 'epochs' must be a whole number, got True"),
        ({"epochs": 0}, r"field 'epochs' must be between 1 and 100, got 0"),
        ({"lr": float("nan")}, r"field 'lr' must be a number, got nan"),
        ({"lr": -0.1}, r"field 'lr' must be between 0 and 1, got -0.1"),
        (
            {"algorithm": "grpo"},
            r"field 'algorithm' must be 'ppo' or 'reinforce' or 'rejection' or 'cloning', got 'grpo'",
        ),
        (
            {"lambda_policy": "adaptve"},
            r"field 'lambda_policy' must be a number or 'adaptive', got 'adaptve'",
        ),
        ({"lambda_policy": 1.5}, r"field 'lambda_policy' must be between 0 and 1"),
        ({"tasks": "click-test"}, r"field 'tasks' must be a list, got 'click-test'"),
        ({"tasks": [3]}, r"field 'tasks\[0\]' must be a string, got 3"),
        ({"betas": [0.9]}, r"field 'betas' must be a list of 2"),
        ({"shuffled_rewards": 1}, r"field 'shuffled_rewards' must be true or false, got 1"),
        (
            {"value_pretraining": {"max_epoch": 3}},
            r"unknown field 'value_pretraining.max_epoch'; did you mean max_epochs",
        ),
        *(
            (
                {**compared, "tasks": ["click-test", "click-button"], "episodes_per_iteration": 3},
                r"group_size 1: 3 episodes of 2 tasks are not two of each, and an episode is compared with "
                r"the others of its group: try group_size=2 with episodes_per_iteration=4",
            )
            for compared in (
                {"advantage": "grpo", "normalisation": "none"},
                {"advantage": "rloo", "normalisation": "none", "rollouts": "stream"},
                {"normalisation": "group"},
                {"keep_spread": 0.5},
            )
        ),
        ({"value_pretraining": 3}, r"field 'value_pretraining' must be a mapping of fields"),
        (
            {"critic_warmup": 2, "advantage": "grpo"},
            r"critic_warmup: algorithm 'ppo' with advantage 'grpo' trains no such critic: leave critic_warm",
        ),
        ({"critic_warmup": 2, "algorithm": "rejection"}, r"algorithm 'rejection' with .* no such critic"),
        ({"critic_warmup": 2, "advantage": "archer"}, r"advantage 'archer' trains no such critic"),
        ({"critic": "separate", "advantage": "rloo"}, r"critic: .* 'rloo' trains no such critic"),
        ({"truncation": "end", "advantage": "grpo"}, r"truncation: .* 'grpo' reads no V after an episode"),
        ({"truncation": "end", "algorithm": "cloning"}, r"truncation: algorithm 'cloning' .* reads no V"),
        (
            {**BY_TOKENS, "process_form": "potential", "process_weight": 0.1},
            r"process_weight: .* discounted by turns, .* 'token' discounts by tokens: set gamma=1, or adv",
        ),
        ({**BY_TOKENS, "process_weight": 0.1}, r"process_weight: .* discounted by turns, .* set gamma=1"),
        ({**BY_TOKENS, "shaping": {"void": 0.1}}, r"shaping: .* discounted by turns, .* set gamma=1, or adv"),
        ({"critic_warmup": 5, "iterations": 5}, r"critic_warmup 5 leaves the policy none of 5 iterations"),
        (
            {"algorithm": "reinforce", "scale_by_clipping_bias": True},
            r"scale_by_clipping_bias: algorithm 'reinforce' clips nothing: leave it out",
        ),
        ({"minimum_turns": 64}, r"minimum_turns: batch rollouts are waited for whole: .* rollouts=stream"),
        (
            {"rollouts": "recorded", "attempts": 2},
            r"attempts: .* in sandboxes, and recorded .*: leave attempts out",
        ),
        ({"rollouts": "self_play", "group_size": 4}, r"group_size: .* self_play .*: leave group_size out"),
        (
            {"rollouts": "self_play", "curate": True, "stop_below": 0.2},
            r"curate and stop_below: .* in sandboxes, and self_play .*: leave curate and stop_below out",
        ),
        (
            {"algorithm": "cloning", "success_band": [0.2, 0.8]},
            r"success_band: .* and cloning .*: leave success_b",
        ),
        (
            {"algorithm": "cloning", "shuffled_rewards": True},
            r"shuffled_rewards: .* cloning .*: leave shuffled_rewards out",
        ),
        (
            {"algorithm": "cloning", "self_imitation": 4},
            r"self_imitation: .* cloning .*: leave self_imitation out",
        ),
        ({"curate": True, "success_band": [0.0, 1.0]}, r"curate and success_band .*: leave one of them out"),
        (
            {"advantage": "grpo", "normalisation": "none", "episode_weight": 0.5},
            r"episode_weight: .* 'grpo' .* set advantage=step_episode",
        ),
        *(
            ({"advantage": each}, rf"normalisation: .* '{each}' .*: set normalisation=none")
            for each in ("grpo", "rloo", "step_episode")
        ),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_config(PpoConfig, given)


BESIDE_THE_OUTCOME = [
    ("process_weight", 0.1),
    ("environment_weight", 1.0),
    ("information_weight", 1.0),
    ("gate", 0.5),
    ("shaping", {"void": 0.1}),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *BESIDE_THE_OUTCOME,
        ("skip_void", True),
        ("skip_overlong", True),
        ("keep_spread", 0.25),
        ("entropy_quantile", 0.2),
        ("covariance_clip", 0.01),
        ("entropy_smoothing", 1.0),
        ("importance_cap", 2.0),
    ],
)
def test_what_becomes_of_the_policys_own_turns_is_refused_where_others_are_cloned(
    name: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match=f"{name}: .* and cloning .*: leave {name} out") as refused:
        parse_config(PpoConfig, {"algorithm": "cloning", name: value})
    assert refused.value.field == name
    parse_config(PpoConfig, {name: value})


@pytest.mark.parametrize(("name", "value"), BESIDE_THE_OUTCOME)
def test_rejection_takes_rewards_beside_the_outcome_where_something_goes_by_them(
    name: str, value: Any
) -> None:
    told = {"algorithm": "rejection", name: value}
    with pytest.raises(ConfigError, match=f"{name}: rejection imitates .* leave {name} out, or set keep_sp"):
        parse_config(PpoConfig, told)
    parse_config(PpoConfig, {**told, "keep_spread": 0.25})


@pytest.mark.parametrize(
    "told",
    [
        {"advantage": "archer"},
        {"advantage": "token"},
        {"normalisation": "group"},
        {"advantage": "grpo", "normalisation": "none"},
    ],
)
@pytest.mark.parametrize("algorithm", ["rejection", "cloning"])
def test_who_imitates_compares_no_turns_with_what_was_expected(algorithm: str, told: dict[str, str]) -> None:
    named = " and ".join(told)
    with pytest.raises(
        ConfigError, match=f"^{named}: {algorithm} imitates .*: leave {named} out$"
    ) as refused:
        parse_config(PpoConfig, {"algorithm": algorithm, **told})
    assert refused.value.field == next(iter(told))
    if algorithm == "rejection":  # the tokens that covariance leaves out are found by advantages
        parse_config(PpoConfig, {"algorithm": algorithm, "covariance_clip": 0.01, **told})


@pytest.mark.parametrize(
    "changes",
    [
        {"gamma": 1.0, "shaping": {"void": 0.1}},
        {"advantage": "bilevel", "shaping": {"void": 0.1}},
        {"advantage": "grpo", "normalisation": "none", "shaping": {"void": 0.1}},
        {"algorithm": "rejection", "advantage": "turn", "keep_spread": 0.5, "shaping": {"void": 0.1}},
        {"process_form": "potential"},
        {"shaping": {"free_tokens": 8}},
    ],
)
def test_what_is_discounted_by_turns_goes_with_all_that_is(changes: dict[str, Any]) -> None:
    parse_config(PpoConfig, {**BY_TOKENS, **changes})
