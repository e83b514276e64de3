from __future__ import annotations

import pytest

from deskhand_platform.errors import InvalidField
from deskhand_platform.rounds.config import as_json, merge, round_config
from deskhand_platform.rounds.plan import plan, promotion_settings
from deskhand_platform.rounds.presets import DEFAULT, checked_preset, preset, preset_names


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_valid_and_comes_back_from_json(name: str) -> None:
    config = checked_preset(name)
    assert config.description
    assert round_config(as_json(config)) == config
    names = [phase.name for phase in plan(config, None, None)]
    assert len(set(names)) == len(names) and names[-1] == "promote"


def test_the_default_comes_first() -> None:
    assert {"from-scratch", "smoke"} <= set(preset_names())
    assert preset_names()[0] == DEFAULT and list(preset_names()[1:]) == sorted(preset_names()[1:])


def test_a_trained_start_needs_no_warm_start() -> None:
    names = [phase.name for phase in plan(preset("smoke"), "some-policy", "some-policy")]
    assert names[0] == "evaluate-start"
    assert not {"collect", "sft", "evaluate-sft", "validate-sft"} & set(names)
    assert "validate-start" in names and "validate-promoted" not in names


def test_a_start_from_another_policy_is_measured_against_the_promoted_one_on_validation_seeds() -> None:
    config = preset("smoke")
    validations = [phase for phase in plan(config, None, "promoted") if phase.name.startswith("validate-")]
    whose = {phase.name: phase.policy_in for phase in validations}
    assert whose == {"validate-promoted": "promoted", "validate-sft": None, "validate-ppo": None}
    for phase in validations:
        assert phase.config["split"] == "validation" and phase.config["modes"] == [config.promote.measure]


def test_what_a_trained_policy_explored_is_routed() -> None:
    config = preset("smoke")
    names = [phase.name for phase in plan(config, "some-policy", "some-policy")]
    begun = names.index("explore")
    assert names[begun : begun + 5] == [
        "explore", "curate-explored", "pretrain", "rejection", "evaluate-rejection",
    ]  # fmt: skip
    practised = names.index("ppo")
    assert names[practised : practised + 3] == ["ppo", "curate-practised", "evaluate-ppo"]
    assert "validate-rejection" in names and "validate-sft" not in names
    assert not {"pretrain", "rejection"} & {phase.name for phase in plan(config, None, None)}


def test_labels_are_made_before_what_learns_from_them() -> None:
    config = preset("smoke", {"label": {"tasks": ["miniwob/click-test"]}})
    for start in (None, "some-policy"):
        names = [phase.name for phase in plan(config, start, start)]
        assert names.index("explore") < names.index("label") == names.index("score") - 1


def test_promotion_can_look_at_tasks_of_its_own() -> None:
    config = preset("smoke", {"promote": {"tasks": ["miniwob/click-widget"]}})
    validations = [phase for phase in plan(config, None, None) if phase.name.startswith("validate-")]
    assert validations and all(phase.config["tasks"] == ["miniwob/click-widget"] for phase in validations)


def test_a_round_that_measures_nothing_promotes_by_nothing() -> None:
    config = preset("smoke", {"evaluate": None, "promote": {"tasks": ["miniwob/click-widget"]}})
    assert promotion_settings(config) is None
    assert all(phase.kind != "evaluate" for phase in plan(config, "some-policy", None))


def test_overrides_go_into_depth_and_null_leaves_a_phase_out() -> None:
    config = preset("smoke", {"ppo": {"value_pretraining": {"enabled": False}}, "score": None})
    assert config.ppo is not None and config.score is None
    assert config.ppo["value_pretraining"] == {"episodes": 8, "max_epochs": 2, "enabled": False}
    assert merge({"a": {"b": 1}}, {"a": 2}) == {"a": 2}


@pytest.mark.parametrize(
    ("over", "field", "said"),
    [
        ({"sfft": {}}, "sfft", "did you mean sft"),
        ({"sft": {"cloning_epoch": 1}}, "sft.cloning_epoch", "did you mean cloning_epochs"),
        ({"ppo": {"iterations": "many"}}, "ppo.iterations", "whole number.*; for example ppo.iterations=50"),
        ({"ppo": {"value_pretraining": {"lr": 2}}}, "ppo.value_pretraining.lr", "between 0 and 1, got 2"),
        ({"ppo": {"episodes_per_iteration": 9, "group_size": 2}}, "ppo.episodes_per_iteration", "try 8"),
        ({"ppo": {"ratio": "turn_geometric"}}, "ppo.clip_low", "0.0003 and 0.0004"),
        (
            {"ppo": {"ratio": "turn_geometric", "clip_low": 0.1}},
            "ppo.clip_high",
            "set clip_low and clip_high",
        ),
        ({"promote": {"gate": "luck"}}, "promote.gate", "interval or figure"),
        ({"promote": {"tasks": "x"}}, "promote.tasks", "list"),
        ({"promote": {"measur": "greedy"}}, "promote.measur", "did you mean measure"),
        ({"promote": {"episodes": 0}}, "promote.episodes", "whole number"),
        ({"promote": 1}, "promote", "mapping"),
        ({"start": 3}, "start", "text"),
    ],
)
def test_a_wrong_override_is_refused_by_name(over: dict[str, object], field: str, said: str) -> None:
    with pytest.raises(InvalidField, match=said) as caught:
        checked_preset("smoke", over)
    assert caught.value.field == field


def test_an_unknown_preset_names_its_neighbour() -> None:
    with pytest.raises(InvalidField, match="did you mean from-scratch"):
        preset("from-scrach")
