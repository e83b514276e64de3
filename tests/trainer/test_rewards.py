from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deskhand_trainer.rewards import RewardRule, capped_steps, potential_differences, turn_rewards

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


@given(
    looper=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    finisher=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    weight=st.floats(0, 10),
    cap=st.floats(0, 0.49),
    gamma=st.floats(0.5, 1),
)
@example(looper=[0.9] * 20, finisher=[0.4] * 20, weight=1.0, cap=0.3, gamma=0.9)
def test_a_looper_never_out_earns_who_finishes_as_soon_where_returns_are_discounted(
    looper: list[float], finisher: list[float], weight: float, cap: float, gamma: float
) -> None:
    rule = RewardRule(process_weight=weight, process_cap=cap, gamma=gamma)
    finisher = finisher[: len(looper)]
    loops = turn_rewards(rule, turns=len(looper), outcome=0.0, process=looper)
    done = turn_rewards(rule, turns=len(finisher), outcome=1.0, process=finisher)
    lost, won = (sum(gamma**h * r.total for h, r in enumerate(each)) for each in (loops, done))
    assert lost < won


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
    with pytest.raises(ValueError, match="finishing always pays"):
        RewardRule(process_cap=-0.1)
    with pytest.raises(ValueError, match="process_weight must not be negative"):
        RewardRule(process_weight=-0.5)
    with pytest.raises(ValueError, match="2 process rewards for 3 turns"):
        turn_rewards(RULE, turns=3, outcome=0.0, process=[0.1, 0.2])


@pytest.mark.parametrize(("outcome", "counts"), [(0.5, True), (0.49999, False), (1.0, True), (0.0, False)])
def test_steps_count_from_the_gate_on(outcome: float, counts: bool) -> None:
    rule = RewardRule(process_weight=1.0, process_cap=0.4, environment_weight=2.0, gate=0.5)
    got = turn_rewards(rule, turns=2, outcome=outcome, process=[0.7, 0.5], environment=[0.25, 0.0])
    assert [r.total for r in got] == pytest.approx([0.2 + 0.5 if counts else 0.0, outcome])


def test_what_a_second_attempt_gains_is_paid_and_a_first_success_is_not() -> None:
    rule = RewardRule(progress_bonus=2.0)
    failed = [(0, 0.0)]
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=1.0, failed=failed)] == [0.0, 3.0]
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=1.0)] == [0.0, 1.0]
    assert [r.total for r in turn_rewards(rule, turns=2, outcome=0.0, failed=failed)] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("first", "outcome", "progress"),
    [(0.75, 0.5, -2.5), (0.5, 0.5, 0.0), (0.25, 1.0, 7.5), (None, 0.5, 0.0)],
)
def test_progress_is_what_is_gained_over_the_first_score_where_that_is_known(
    first: float | None, outcome: float, progress: float
) -> None:
    """α(r₂ − r₁), and each attempt earns its own score."""
    rule, failed = RewardRule(progress_bonus=10.0), [(1, first)]
    parts = [dict(r.parts) for r in turn_rewards(rule, turns=3, outcome=outcome, failed=failed)]
    assert [p["outcome"] for p in parts] == [0.0, first or 0.0, outcome]
    assert [p["progress"] for p in parts] == pytest.approx([0.0, 0.0, progress])
    # without a price on progress there is one verdict
    plain = [r.total for r in turn_rewards(RewardRule(), turns=3, outcome=outcome, failed=failed)]
    assert plain == [0.0, 0.0, outcome]


def test_every_later_attempt_is_paid_for_what_it_gained() -> None:
    rule, failed = RewardRule(progress_bonus=2.0), [(0, 0.25), (1, 0.5)]
    got = [r.total for r in turn_rewards(rule, turns=3, outcome=0.0, failed=failed)]
    assert got == pytest.approx([0.25, 0.5 + 2 * 0.25, -2 * 0.25])


SHAPED = RewardRule(process_weight=0.5, process_form="potential", gamma=0.9)


def returned(rule: RewardRule, potentials: list[float], outcome: float) -> float:
    """Σ γ^h r_h."""
    got = turn_rewards(rule, turns=len(potentials) - 1, outcome=outcome, potentials=potentials)
    return sum(rule.gamma**h * each.total for h, each in enumerate(got))


def test_potential_differences_by_hand() -> None:
    assert potential_differences([0.2, 0.5, 0.8, 0.0], gamma=0.9) == pytest.approx([0.25, 0.22, -0.8])
    got = turn_rewards(SHAPED, turns=3, outcome=1.0, potentials=[0.2, 0.5, 0.8, 0.0])
    assert [dict(r.parts)["process"] for r in got] == pytest.approx([0.125, 0.11, -0.4])
    assert [r.total for r in got] == pytest.approx([0.125, 0.11, 0.6])
    # γ²·1 − w·Φ(s_0)
    assert returned(SHAPED, [0.2, 0.5, 0.8, 0.0], 1.0) == pytest.approx(0.81 - 0.1)
    # cut off in a state worth .8: w·(γ³·.8 − .2)
    assert returned(SHAPED, [0.2, 0.5, 0.8, 0.8], 0.0) == pytest.approx(0.5 * (0.729 * 0.8 - 0.2))
    # scores are not paid in this form, and without values nothing is
    assert turn_rewards(SHAPED, turns=1, outcome=1.0, process=[1.0])[0].parts == (("outcome", 1.0),)


values = st.floats(0, 1)


@given(
    start=values,
    looped=st.lists(values, min_size=1, max_size=100),
    more=st.lists(values, max_size=20),
    weight=st.floats(0, 0.99),
    gamma=st.floats(0.5, 1),
)
def test_a_looper_never_out_earns_a_finisher_by_potentials(
    start: float, looped: list[float], more: list[float], weight: float, gamma: float
) -> None:
    rule = RewardRule(process_weight=weight, process_form="potential", gamma=gamma)
    # the finisher takes no more turns than the looper, from the same start
    finisher = [start, *more[: len(looped) - 1], 0.0]
    cut_off, ended = [start, *looped], [start, *looped, 0.0]
    done = returned(rule, finisher, 1.0)
    assert done > returned(rule, cut_off, 0.0) and done > returned(rule, ended, 0.0)


@given(states=st.lists(values, min_size=1, max_size=30), weight=st.floats(0, 0.99), gamma=st.floats(0.5, 1))
def test_potentials_shift_every_way_from_a_start_alike(
    states: list[float], weight: float, gamma: float
) -> None:
    rule = RewardRule(process_weight=weight, process_form="potential", gamma=gamma)
    plain = gamma ** (len(states) - 1)
    assert returned(rule, [*states, 0.0], 1.0) == pytest.approx(plain - weight * states[0], abs=1e-9)


def test_potentials_refuse_a_weight_that_would_pay_for_waiting_and_wrong_lengths() -> None:
    with pytest.raises(ValueError, match="below 1 for potentials"):
        RewardRule(process_weight=1.0, process_form="potential")
    with pytest.raises(ValueError, match="2 potentials for 2 turns"):
        turn_rewards(SHAPED, turns=2, outcome=0.0, potentials=[0.1, 0.2])
