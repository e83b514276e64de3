from __future__ import annotations

import math

import pytest

from deskhand_trainer.wilson import wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (81, 263), (1, 1)])
def test_equals_the_closed_form(k: int, n: int) -> None:
    z, p = 1.959963984540054, k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    got = wilson(k, n)
    assert (got.value, got.count) == (p, n)
    assert got.low == pytest.approx(max(0.0, centre - half), rel=1e-9, abs=1e-12)
    assert got.high == pytest.approx(min(1.0, centre + half), rel=1e-9, abs=1e-12)


def test_nothing_tried_has_no_rate() -> None:
    with pytest.raises(ValueError, match="no rate"):
        wilson(0, 0)
