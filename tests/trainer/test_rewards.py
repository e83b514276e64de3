from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_trainer.rewards import RewardRule, capped_steps, turn_rewards

RULE = RewardRule(process_weight=0.5, process_cap=0.3)


@given(
    looper=st.lists(st.floats(0, 1), min_size=1, max_size=200),
    finisher=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    weight=st.floats(0, 10),
    cap=st.floats(0, 0.49),
)
def test_a_looper_never_out_earns_a_finisher(
    looper: list[float], finisher: list[float], weight: float, cap: float
) -> None:
    rule = RewardRule(process_weight=weight, process_cap=cap)
    loops = turn_rewards(rule, turns=len(looper), outcome=0.0, process=looper)
    done = turn_rewards(rule, turns=len(finisher), outcome=1.0, process=finisher)
    assert sum(r.total for r in loops) < sum(r.total for r in done)


def test_parts_add_up_and_the_outcome_lands_last() -> None:
    got = turn_rewards(RULE, turns=3, outcome=1.0, process=[0.9, 0.5, 0.1])
    assert [dict(r.parts)["outcome"] for r in got] == [0, 0, 1]
    assert [dict(r.parts)["process"] for r in got] == pytest.approx([0.2, 0.0, -0.2])
    assert [r.total for r in got] == pytest.approx([0.2, 0.0, 0.8])


def test_without_a_reward_model_only_the_outcome_counts() -> None:
    got = turn_rewards(RewardRule(), turns=2, outcome=1.0)
    assert [r.parts for r in got] == [(("outcome", 0.0),), (("outcome", 1.0),)]


def test_the_cap_holds_the_running_sum_and_lets_it_come_back() -> None:
    steps = capped_steps([0.2, 0.2, 0.2, -0.5, -0.5], cap=0.3)
    assert steps == pytest.approx([0.2, 0.1, 0.0, -0.5, -0.1])


def test_environment_rewards_have_a_weight_of_their_own() -> None:
    got = turn_rewards(RewardRule(environment_weight=0.1), turns=2, outcome=0.0, environment=[1.0, -1.0])
    assert [r.total for r in got] == pytest.approx([0.1, -0.1])


def test_refuses_what_would_pay_for_loops_and_wrong_lengths() -> None:
    with pytest.raises(ValueError, match="finishing always pays"):
        RewardRule(process_cap=0.5)
    with pytest.raises(ValueError, match="2 process rewards for 3 turns"):
        turn_rewards(RULE, turns=3, outcome=0.0, process=[0.1, 0.2])


@pytest.mark.parametrize(("outcome", "counts"), [(0.5, True), (0.49999, False), (1.0, True), (0.0, False)])
def test_steps_count_from_the_gate_on(outcome: float, counts: bool) -> None:
    rule = RewardRule(process_weight=1.0, process_cap=0.4, environment_weight=2.0, gate=0.5)
    got = turn_rewards(rule, turns=2, outcome=outcome, process=[0.7, 0.5], environment=[0.25, 0.0])
    assert [r.total for r in got] == pytest.approx([0.2 + 0.5 if counts else 0.0, outcome])


def test_what_a_second_attempt_gains_is_paid_and_a_first_success_is_not() -> None:
    rule = RewardRule(progress_bonus=2.0)
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=1.0, retried=True)] == [0.0, 3.0]
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=1.0)] == [0.0, 1.0]
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=0.0, retried=True)] == [0.0, 0.0]
