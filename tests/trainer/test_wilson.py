from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from deskhand_trainer.wilson import Rate, clustered_wilson, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (81, 263), (1, 1)])
def test_equals_the_closed_form(k: int, n: int) -> None:
    z, p = 1.959963984540054, k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    got = wilson(k, n)
    assert (got.value, got.count) == (p, n)
    assert got.low == pytest.approx(max(0.0, centre - half), rel=1e-9, abs=1e-12)
    assert got.high == pytest.approx(min(1.0, centre + half), rel=1e-9, abs=1e-12)
    theirs = binomtest(k, n).proportion_ci(method="wilson")
    assert (got.low, got.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


def test_nothing_tried_has_no_rate() -> None:
    with pytest.raises(ValueError, match="no rate"):
        wilson(0, 0)


def reach(rate: Rate) -> float:
    return rate.high - rate.low


def test_starts_tried_once_are_independent_trials() -> None:
    assert clustered_wilson([(1, 1)] * 81 + [(0, 1)] * 182) == wilson(81, 263)


def test_golden_of_tries_at_one_start() -> None:
    """Four starts of four tries, won 4 3 1 0: share 1/2, off by 2 1 1 2 of the 2 expected, squares 10 in all.

    Variance over starts 4/3 · 10/16² = .052083, of 16 independent trials .25/16 = .015625: the design effect
    is 10/3, and they are worth 4.8.
    """
    got = clustered_wilson([(4, 4), (3, 4), (1, 4), (0, 4)])
    z, worth = 1.959963984540054, 4.8
    half = z / (1 + z * z / worth) * math.sqrt(0.25 / worth + z * z / (4 * worth * worth))
    assert (got.value, got.count) == (0.5, 16)
    assert (got.low, got.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-12)
    assert reach(got) > reach(wilson(8, 16))


def test_tries_that_all_end_alike_are_worth_one_trial_a_start() -> None:
    alike = clustered_wilson([(8, 8)] * 10 + [(0, 8)] * 20)
    once = wilson(10, 30)
    assert (alike.low, alike.high) == pytest.approx((once.low, once.high), rel=1e-12)
    assert (alike.value, alike.count) == (once.value, 240)
    # nothing is known of how alike they are where all or none succeed
    for won in (0, 8):
        told, single = clustered_wilson([(won, 8)] * 30), wilson(won // 8 * 30, 30)
        assert (told.low, told.high) == pytest.approx((single.low, single.high), rel=1e-12)


def test_tries_that_are_no_more_alike_than_others_are_independent() -> None:
    got, plain = clustered_wilson([(2, 4)] * 20), wilson(40, 80)
    assert (got.low, got.high) == (plain.low, plain.high)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Start states that succeed with chances of their own (beta, .5 and .5) and eight tries at each: the mean
    chance is in 95 of 100 intervals, and in far fewer of those that take all tries for independent."""
    draws = np.random.default_rng(0)
    held = {"clustered": 0, "plain": 0}
    for _ in range(600):
        won = draws.binomial(8, draws.beta(0.5, 0.5, size=40))
        for name, rate in (
            ("clustered", clustered_wilson([(int(each), 8) for each in won])),
            ("plain", wilson(int(won.sum()), 320)),
        ):
            held[name] += rate.low <= 0.5 <= rate.high
    assert 0.93 <= held["clustered"] / 600 <= 0.98
    assert held["plain"] / 600 < 0.8


def test_more_successes_than_tries_have_no_rate() -> None:
    for starts in ([], [(2, 1), (0, 2)]):
        with pytest.raises(ValueError, match=r"no rate|more successes"):
            clustered_wilson(starts)
