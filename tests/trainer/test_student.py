"""Student's interval of a mean."""

from __future__ import annotations

import pytest

from deskhand_trainer.student import student_mean


def test_three_values_by_hand() -> None:
    """t(.975, 2) = 4.3027 (Fisher and Yates, table III); the deviation of 1, 2, 3 is 1."""
    found = student_mean([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert (found.low, found.high) == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), abs=1e-4)


def test_equal_values_have_no_width_and_one_value_has_no_interval() -> None:
    found = student_mean([0.25, 0.25])
    assert (found.low, found.value, found.high) == (0.25, 0.25, 0.25)
    with pytest.raises(ValueError, match="two values or more, not 1"):
        student_mean([0.25])
