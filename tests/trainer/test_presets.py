"""Every method by name: what it says of itself, and that a run can be told it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import pytest

from deskhand_agent.grammar import format_reply
from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Split
from deskhand_trainer import config as configs
from deskhand_trainer.admission import admit, refuse_idle
from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig, parse_config
from deskhand_trainer.curriculum import TaskRecord, shares, turn_limit
from deskhand_trainer.entropy import band_push
from deskhand_trainer.errors import ConfigError, RunRefused
from deskhand_trainer.playing_config import DEMO_TASK
from deskhand_trainer.presets import method, method_names
from deskhand_trainer.rollouts import jobs_of, seed_ranges
from deskhand_trainer.run import CONFIGS

METHODS = [name for name in method_names() if method(name).kind == "ppo"]


@pytest.mark.parametrize("name", method_names())
def test_a_method_says_what_it_does_and_after_whom(name: str) -> None:
    found = method(name)
    assert re.fullmatch(r"[A-Z].{20,110}\.", found.description)
    assert re.search(r"arXiv:\d{4}\.\d{5}", found.paper)
    record = getattr(configs, CONFIGS[found.kind])
    told = parse_config(record, found.config, path=f"{found.kind}.")
    assert said_by(json.loads(json.dumps(asdict(told))), found.config) == found.config
    assert told != record() or name == "tdpo"


def said_by(told: Any, asked: Any) -> Any:
    """What a record says of the fields that were asked for, and of those within them."""
    if not isinstance(asked, dict):
        return told
    return {name: said_by(told[name], each) for name, each in asked.items()}


def test_no_two_methods_are_the_same() -> None:
    runs = {
        name: parse_config(getattr(configs, CONFIGS[found.kind]), found.config)
        for name in method_names()
        if (found := method(name))
    }
    assert [pair for pair in combinations(runs, 2) if runs[pair[0]] == runs[pair[1]]] == []


@pytest.mark.parametrize("name", METHODS)
def test_a_method_without_a_ratio_passes_once_over_a_batch(name: str) -> None:
    config = parse_config(PpoConfig, method(name).config)
    assert config.algorithm != "reinforce" or config.epochs == 1  # no ratio corrects a second pass


@pytest.mark.parametrize("name", [name for name in METHODS if "turn_limits" in method(name).config])
def test_limits_on_turns_all_come_within_the_iterations_and_leave_the_task_enough(name: str) -> None:
    config = parse_config(PpoConfig, method(name).config)
    used = [
        turn_limit(config.turn_limits, every=config.turn_limit_every, iteration=i)
        for i in range(config.iterations - config.curriculum.iterations)
    ]
    assert tuple(dict.fromkeys(used)) == config.turn_limits
    assert config.tasks[0] == DEMO_TASK
    assert config.turn_limits[0] > 2  # a click opens, another presses
    for task in config.tasks:
        own = make_task(task, 0).limits.turns
        job, last = (
            jobs_of(seed_ranges((task,), Split.TRAIN, episodes=1, offset=0), labels={}, turn_limits=limits)[0]
            for limits in ({task: config.turn_limits[0]}, {task: config.turn_limits[-1]})
        )
        assert job.task.limits.turns < own == last.task.limits.turns


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_is_named_for_happens_at_its_own_tasks(name: str, tiny: ModelBundle) -> None:
    config = parse_config(PpoConfig, method(name).config)
    admit(config)
    turns = max(make_task(task, 0).limits.turns for task in config.tasks)
    assert (config.summary_after or 0) < turns
    if config.success_band:
        starts = config.episodes_per_iteration // config.group_size
        known = {config.tasks[0]: TaskRecord(success=1.0)}
        assert len({*shares(config.tasks, starts, known, band=config.success_band)}) > 1
    if config.entropy_smoothing:
        low, high = config.entropy_band
        weights = [
            config.entropy_coef + config.entropy_smoothing * band_push(entropy, [1.0], low=low, high=high)
            for entropy in (0.5, 2.0)
        ]
        assert weights[0] > 0 > weights[1]
    if config.memory == "constant":
        reply = format_reply("opened section 3, submit left", (Click(x=84, y=120),))
        assert len(tokenise_reply(tiny, reply)) < config.max_tokens


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (
            {"information_weight": 1.0, "tasks": [DEMO_TASK, "store/buy-text"]},
            "none of the tasks has one written down",
        ),
        ({"turn_limits": [10, 20, 30], "turn_limit_every": 9}, "from 10, .* end after 6 turns anyway"),
    ],
)
def test_a_setting_that_does_nothing_at_any_of_the_tasks_is_refused(
    told: dict[str, object], why: str
) -> None:
    with pytest.raises(RunRefused, match=why):
        refuse_idle(parse_config(PpoConfig, told))
    tasks = ("vm/calculate", "games/2048")
    refuse_idle(replace(parse_config(PpoConfig, told), tasks=tasks))


def test_one_limit_on_turns_may_lie_beyond_what_a_task_allows() -> None:
    refuse_idle(PpoConfig(turn_limits=(8,)))


def test_limits_on_turns_may_last_beyond_what_time_allows() -> None:
    told = {"turn_limits": [10, 20, 30], "iterations": 100_000, "environment_steps": 500}
    assert parse_config(PpoConfig, told).turn_limit_every == 100


@pytest.mark.parametrize("told", [{"rollouts": "stream"}, {"replay": 8}])
@pytest.mark.parametrize(
    "name", [name for name in METHODS if method(name).config.get("algorithm") == "reinforce"]
)
def test_reinforce_on_turns_of_older_weights_wants_them_weighed(name: str, told: dict[str, object]) -> None:
    if name == "spiral":
        told = {"rollouts": "batch", **told}  # of games the store holds nothing
    asked = {**method(name).config, **told}
    with pytest.raises(ConfigError, match=r"field 'ppo': importance_cap: .* set importance_cap \(2 is usual"):
        parse_config(PpoConfig, asked, path="ppo.")
    assert parse_config(PpoConfig, {**asked, "importance_cap": 2.0}).importance_cap == 2


def test_an_unknown_method_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no preset 'turnppo'; did you mean turn-ppo"):
        method("turnppo")


@pytest.mark.parametrize(
    ("episodes", "group", "near"), [(128, 5, "try 125 or 130"), (3, 8, "try 8"), (9, 4, "try 8 or 12")]
)
def test_groups_that_do_not_come_out_even_are_refused_with_the_arithmetic(
    episodes: int, group: int, near: str
) -> None:
    told = {"episodes_per_iteration": episodes, "group_size": group}
    with pytest.raises(ConfigError, match=f"field 'ppo': .*no whole number of groups of {group}: {near}"):
        parse_config(PpoConfig, told, path="ppo.")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"rollouts": "stream", "algorithm": "cloning"}, "cloning plays no episodes of the policy's own"),
        ({"rollouts": "recorded", "replay": 8}, "recorded episodes are in no store"),
        ({"rollouts": "self_play", "self_imitation": 8}, "self_play episodes are in no store"),
        ({"rollouts": "recorded", "turn_limits": [8]}, "turn_limits cut off what the policy plays alone"),
        ({"rollouts": "self_play", "turn_limits": [8]}, "self_play episodes are not that: leave turn_limits"),
        ({"advantage": "token"}, "advantage 'token' .* ratio 'turn_product' .*: set ratio=token too"),
        ({"advantage": "bilevel", "ratio": "turn_geometric"}, "'bilevel' .* 'turn_geometric'"),
        ({"shuffled_rewards": True, "replay": 8}, "shuffled_rewards deals out the outcomes of an iteration"),
        ({"shuffled_rewards": True, "self_imitation": 8}, "leave replay and self_imitation at 0"),
        (
            {"turn_limits": [10, 20, 30]},
            "the last of 3 .* 2 times 100 iterations, .* are 50: try turn_limit_every 24 or iterations 201",
        ),
        (
            {"turn_limits": [1, 2, 3], "turn_limit_every": 1, "iterations": 2},
            "the last of 3 begins after 2 times 1 iterations, .* there are 2: try iterations 3",
        ),
        ({"rollouts": "stream", "branches": 2}, "branches leave episodes of a batch"),
        (
            {"tasks": ["a", "b", "c"], "episodes_per_iteration": 8, "group_size": 4},
            "episodes_per_iteration 8 in groups of 4 come to 2 start states, and there are 3 tasks: try 12",
        ),
        (
            {"rollouts": "self_play", "episodes_per_iteration": 7},
            "episodes_per_iteration 7 is no whole number of games, which have two sides: try 8",
        ),
        (
            {"algorithm": "reinforce", "value_pretraining": {"fitted_to": "rollouts_and_stored"}},
            "value_pretraining: algorithm 'reinforce' with advantage 'turn' fits no critic before it begins",
        ),
        (
            {"advantage": "grpo", "value_pretraining": {"fitted_to": "rollouts_and_stored"}},
            "with advantage 'grpo' fits no critic before it begins: leave fitted_to out",
        ),
        ({"user": "gpt", "user_model": "m"}, "user 'gpt' is no https://HOST/v1"),
        ({"user": "http://host:80x", "user_model": "m"}, "user 'http://host:80x' is no https://HOST/v1"),
        ({"user": "https://x/v1"}, "user and user_model go together"),
        ({"user_model": "m"}, "user and user_model go together"),
        ({"rollouts": "online"}, "must be 'batch' or 'stream'"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(told: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_config(PpoConfig, told, path="ppo.")


@pytest.mark.parametrize(
    ("told", "enabled", "reads"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"algorithm": "reinforce"}, False, False),
        ({"advantage": "grpo", "normalisation": "none"}, False, False),
    ],
)
def test_the_store_is_read_where_a_critic_is_fitted_to_it(
    told: dict[str, Any], enabled: bool, reads: bool
) -> None:
    fitting = ValuePretrainingConfig(enabled=enabled, fitted_to="rollouts_and_stored")
    assert PpoConfig(value_pretraining=fitting, **told).by_store == reads
