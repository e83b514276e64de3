"""Penalties by hand, their bounds, and what of a recorded turn they are for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.types import Decision, Step, StepTimings
from deskhand_sandbox.types import Action, Click, Image, Observation, Wait
from deskhand_trainer.batches import reward_rule, with_rewards
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.rewards import RewardRule, penalties, turn_rewards
from deskhand_trainer.shaping import RULES, conduct_of
from deskhand_trainer.shaping_config import ShapingConfig
from deskhand_trainer.types import Conduct, Episode

ALL = ShapingConfig(void=0.1, format=0.05, repetition=0.2, length=0.4, free_tokens=8)
BAD = (
    Conduct(tokens=8, longest=24),
    Conduct(void=True, tokens=24, longest=24),
    Conduct(mended=True, repeated=True, tokens=12, longest=16),
)
"""One without fault; one void and 16 of 24 tokens too long; one mended, repeated and 4 of 16 too long."""


def taken(rule: RewardRule, *conduct: Conduct, outcome: float = 0.0) -> list[dict[str, float]]:
    return [dict(r.parts) for r in turn_rewards(rule, turns=len(conduct), outcome=outcome, conduct=conduct)]


def test_penalties_by_hand() -> None:
    got = taken(RewardRule(shaping=ALL), *BAD, outcome=1.0)
    assert got[0] == {"outcome": 0.0, "void": 0.0, "format": 0.0, "repetition": 0.0, "length": 0.0}
    assert got[1] == pytest.approx(
        {"outcome": 0.0, "void": -0.1, "format": 0.0, "repetition": 0.0, "length": -0.4 * 16 / 24}
    )
    # .1 + .26667 went before, so .13333 is left of ½: .05 for the format, .08333 of the repetition's .2
    assert got[2] == pytest.approx(
        {"outcome": 1.0, "void": 0.0, "format": -0.05, "repetition": -0.25 / 3, "length": 0.0}
    )
    totals = [r.total for r in turn_rewards(RewardRule(shaping=ALL), turns=3, outcome=1.0, conduct=BAD)]
    assert totals == pytest.approx([sum(parts.values()) for parts in got])


@pytest.mark.parametrize(
    ("name", "faults"),
    [("void", [0, 1, 0]), ("format", [0, 0, 1]), ("repetition", [0, 0, 1]), ("length", [0, 2 / 3, 1 / 4])],
)
def test_each_rule_alone(name: str, faults: list[float]) -> None:
    shaping = ShapingConfig(**{name: 0.25}, free_tokens=8)
    got = penalties(BAD, shaping, cap=0.5)
    assert list(got) == [name] and got[name] == pytest.approx([-0.25 * fault for fault in faults])


def test_each_fault_is_its_own_rules_alone() -> None:
    faults = (Conduct(void=True), Conduct(mended=True), Conduct(repeated=True))
    said = {name: [rule(turn, ALL) for turn in faults] for name, rule in RULES.items() if name != "length"}
    assert said == {"void": [1.0, 0.0, 0.0], "format": [0.0, 1.0, 0.0], "repetition": [0.0, 0.0, 1.0]}


def test_penalties_come_to_half_of_what_the_process_reward_leaves() -> None:
    assert RewardRule(process_cap=0.3).penalty_cap == 0.5  # no process reward is paid
    assert RewardRule(process_weight=2.0, process_cap=0.3).penalty_cap == pytest.approx((1 - 2 * 0.3) / 2)
    by_potentials = RewardRule(process_weight=0.8, process_cap=0.3, process_form="potential")
    assert by_potentials.penalty_cap == pytest.approx((1 - 0.8) / 2)


def test_at_weight_0_nothing_changes() -> None:
    plain = turn_rewards(RewardRule(), turns=3, outcome=1.0)
    assert turn_rewards(RewardRule(), turns=3, outcome=1.0, conduct=BAD) == plain
    assert reward_rule(PpoConfig()) == RewardRule()


def test_the_gate_holds_penalties_back_too_and_a_discount_takes_them_to_the_end() -> None:
    rule = RewardRule(shaping=ShapingConfig(void=0.1), gate=0.5, gamma=0.5)
    void = Conduct(void=True)
    assert [parts["void"] for parts in taken(rule, void, void, void)] == [0.0] * 3
    got = [parts["void"] for parts in taken(rule, void, void, void, outcome=1.0)]
    assert got == pytest.approx([-0.025, -0.05, -0.1])


turns = st.builds(
    Conduct,
    void=st.booleans(),
    mended=st.booleans(),
    repeated=st.booleans(),
    tokens=st.integers(0, 64),
    longest=st.just(64),
)
weight = st.floats(0, 1)
shapings = st.builds(ShapingConfig, void=weight, format=weight, repetition=weight, length=weight)
rules = st.one_of(
    st.builds(RewardRule, shaping=shapings, gamma=st.floats(0.5, 1)),
    st.builds(
        RewardRule, shaping=shapings, process_weight=st.floats(0.01, 10), process_cap=st.floats(0, 0.49)
    ),
)


@given(
    rule=rules,
    failed=st.lists(st.tuples(turns, st.floats(0, 1)), min_size=1, max_size=80),
    won=st.lists(st.tuples(turns, st.floats(0, 1)), min_size=1, max_size=40),
)
def test_no_failure_out_earns_a_success_however_each_behaved(
    rule: RewardRule, failed: list[tuple[Conduct, float]], won: list[tuple[Conduct, float]]
) -> None:
    def earned(episode: list[tuple[Conduct, float]], outcome: float) -> float:
        conduct, process = zip(*episode, strict=True)
        got = turn_rewards(rule, turns=len(episode), outcome=outcome, conduct=conduct, process=process)
        held = [sum(dict(r.parts).get(name, 0.0) for name in RULES) for r in got]
        assert max(held) <= 0.0 and sum(held) >= -rule.penalty_cap - 1e-9
        return sum(rule.gamma**h * r.total for h, r in enumerate(got))

    assert earned(won, 1.0) > earned(failed, 0.0)


@given(
    shaping=shapings,
    potentials=st.lists(st.tuples(turns, st.floats(0, 1)), min_size=1, max_size=30),
    process_weight=st.floats(0.01, 0.99),
    gamma=st.floats(0.5, 1),
)
def test_nor_by_potentials_where_it_took_as_long(
    shaping: ShapingConfig, potentials: list[tuple[Conduct, float]], process_weight: float, gamma: float
) -> None:
    rule = RewardRule(shaping=shaping, process_weight=process_weight, process_form="potential", gamma=gamma)
    conduct, states = zip(*potentials, strict=True)

    def earned(outcome: float, after: float, behaved: tuple[Conduct, ...] | None) -> float:
        got = turn_rewards(
            rule, turns=len(states), outcome=outcome, conduct=behaved, potentials=(*states, after)
        )
        return sum(gamma**h * r.total for h, r in enumerate(got))

    assert earned(1.0, 0.0, conduct) > earned(0.0, 1.0, None)


def seen(colour: str, output: str | None = None) -> Observation:
    image = Image(digest=colour * 64, format="png", width_px=8, height_px=8)
    return Observation(screenshot=image, captured_at_s=0.0, settled_ms=0.0, output=output)


def step(index: int, colour: str, *actions: Action, answer: str | None = None, **more: Any) -> Step:
    shown = seen(colour)
    return Step(
        index=index,
        observation=replace(shown, captured_at_s=float(index), settled_ms=3.0 * index),
        decision=Decision(actions=actions, text="", **more),
        reward=0.0,
        answer=answer,
        timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0),
        finished_at_s=0.0,
    )


def test_a_turn_repeats_what_was_done_in_vain_on_the_same_screen() -> None:
    here, there = Click(x=1, y=1), Click(x=2, y=1)
    steps = (
        step(0, "a", here),
        step(1, "a", here),  # again, and nothing had changed
        step(2, "a", there),
        step(3, "b", there),  # the screen had changed
        step(4, "b", there, Wait()),  # one action more
        step(5, "b"),
        step(6, "b"),  # void twice is void, no repetition
        step(7, "b", here, answer=f"no. {TRY_AGAIN}"),
        step(8, "b", here),  # a new attempt
        step(9, "b", here),
    )
    assert [turn.repeated for turn in conduct_of(steps)] == [i in (1, 9) for i in range(10)]
    said = (replace(steps[0], observation=seen("a", "1")), replace(steps[1], observation=seen("a", "2")))
    assert not conduct_of(said)[1].repeated


def test_what_a_recorded_turn_says_of_itself() -> None:
    request = CompletionRequest(
        prompt_ids=(1,), images=(), processor_hash="0", sampling=Sampling(max_tokens=24)
    )
    completion = Completion(
        ids=(1, 2, 3), logprobs=(0.0,) * 3, finish_reason=FinishReason.STOP, policy_id="p", policy_update=0
    )
    drawn: dict[str, Any] = {"request": request, "completion": completion}
    steps = (
        step(0, "a", Wait(), repairs=("prose",), **drawn),
        step(1, "b", summary="done so far", **drawn),
        step(2, "c", Wait()),
        step(3, "d"),
    )
    assert conduct_of(steps) == (
        Conduct(mended=True, tokens=3, longest=24),
        Conduct(tokens=3, longest=24),
        Conduct(),
        Conduct(void=True),
    )


def test_the_config_takes_them_and_refuses_what_would_pay(an_episode: Episode) -> None:
    config = parse_config(PpoConfig, {"shaping": {"void": 0.25}})
    (rewarded,) = with_rewards([replace(an_episode, conduct=(Conduct(void=True),))], reward_rule(config))
    assert rewarded.samples[0].reward_parts == (("outcome", 0.0), ("void", -0.25))
    (unseen,) = with_rewards([an_episode], reward_rule(config))
    assert unseen.samples[0].reward_parts == (("outcome", 0.0),)
    with pytest.raises(ConfigError, match=r"'shaping.void' must be between 0 and 1, got -0.1"):
        parse_config(PpoConfig, {"shaping": {"void": -0.1}})
    with pytest.raises(ValueError, match="1 turns of conduct for 2 turns"):
        turn_rewards(RewardRule(), turns=2, outcome=0.0, conduct=[Conduct()])
