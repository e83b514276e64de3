"""AUC, calibration error and Brier score against hand-worked numbers and slow references."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskhand_flywheel.prm.metrics import auc, brier, calibration_error, reliability

few_scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
cases = st.lists(st.tuples(few_scores, st.booleans()), min_size=1, max_size=30)


def test_auc_by_hand() -> None:
    # positives .9 and .4, negatives .6 and .4: .9 beats both, .4 loses to .6 and ties with .4
    assert auc([0.9, 0.6, 0.4, 0.4], [True, False, True, False]) == pytest.approx((2 + 0.5) / 4)
    assert auc([0.1, 0.9], [False, True]) == 1.0
    assert auc([0.9, 0.1], [False, True]) == 0.0
    assert auc([0.5, 0.5, 0.5], [False, True, True]) == 0.5


def test_one_class_has_no_auc() -> None:
    assert auc([0.1, 0.2], [True, True]) is None
    assert auc([], []) is None


@given(cases)
def test_auc_is_the_chance_of_the_right_order(case: list[tuple[float, bool]]) -> None:
    scores, positive = [score for score, _ in case], [is_positive for _, is_positive in case]
    pairs = [
        1.0 if high > low else 0.5 if high == low else 0.0
        for high, is_positive in case
        if is_positive
        for low, is_low in case
        if not is_low
    ]
    expected = sum(pairs) / len(pairs) if pairs else None
    found = auc(scores, positive)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert math.isclose(found, expected, abs_tol=1e-12)
        flipped = auc([-score for score in scores], positive)
        assert flipped is not None and math.isclose(flipped, 1 - found, abs_tol=1e-12)


def test_calibration_error_by_hand() -> None:
    # bin [.8, .9): two scores of .85, labels 1 and 0: gap |.5 - .85|; bin [.1, .2): gap |0 - .15|
    found = calibration_error([0.85, 0.85, 0.15], [1.0, 0.0, 0.0])
    assert found == pytest.approx(2 / 3 * 0.35 + 1 / 3 * 0.15)
    assert calibration_error([1.0, 0.0], [1.0, 0.0]) == 0.0
    assert calibration_error([], []) is None


def test_calibration_is_of_scores_from_zero_to_one() -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        calibration_error([1.5], [1.0])


@given(cases)
def test_a_constant_score_at_the_base_rate_is_calibrated(case: list[tuple[float, bool]]) -> None:
    labels = [float(positive) for _, positive in case]
    rate = sum(labels) / len(labels)
    error = calibration_error([rate] * len(labels), labels)
    assert error is not None and error < 1e-9


def test_brier_by_hand() -> None:
    assert brier([0.5, 1.0], [1.0, 1.0]) == pytest.approx(0.125)
    assert brier([], []) is None


def test_reliability_by_hand() -> None:
    low, high = reliability([0.15, 0.85, 0.85], [0.0, 1.0, 0.0])
    assert (low.count, low.mean_score, low.mean_label) == (1, 0.15, 0.0)
    assert (high.count, high.mean_label) == (2, 0.5) and high.mean_score == pytest.approx(0.85)
    assert reliability([1.0], [1.0])[0].count == 1 and reliability([], []) == ()
