"""Platt scaling against what it must find, and figures over labels that can tell."""

from __future__ import annotations

import math
import random

import pytest

from deskhand_flywheel.prm.calibration import Scaling, fit_scaling, quality, settled, settled_by_chance
from deskhand_flywheel.prm.continuation import standard_error
from deskhand_flywheel.prm.targets import StepTarget
from deskhand_flywheel.types import StepValue


def target(label: float, error: float = 0.0) -> StepTarget:
    return StepTarget(trajectory_id="a", step_index=0, label=label, source="mc", error=error)


def loss(scaling: Scaling, logits: list[float], labels: list[float]) -> float:
    """Negative log posterior."""
    scores = [scaling.score(logit) for logit in logits]
    fit = sum(-y * math.log(s) - (1 - y) * math.log(1 - s) for s, y in zip(scores, labels, strict=True))
    return fit + ((scaling.scale - 1) ** 2 + scaling.shift**2) / 2


def test_scaling_finds_what_the_labels_were_made_by() -> None:
    chance = random.Random(0)
    logits = [chance.gauss(0, 2) for _ in range(5000)]
    made_by = Scaling(scale=0.4, shift=-0.7)
    found = fit_scaling(logits, [made_by.score(logit) for logit in logits])
    assert (found.scale, found.shift) == pytest.approx((0.4, -0.7), abs=0.01)
    drawn = fit_scaling(logits, [float(chance.random() < made_by.score(logit)) for logit in logits])
    assert (drawn.scale, drawn.shift) == pytest.approx((0.4, -0.7), abs=0.1)


def test_scaling_is_at_the_lowest_loss_and_finite_where_labels_are_separable() -> None:
    for logits, labels in (
        ([-3.0, -1.0, 2.0, 4.0], [0.0, 0.0, 1.0, 1.0]),
        ([40.0, 50.0, -60.0], [0.0, 0.2, 1.0]),
        ([], []),
    ):
        found = fit_scaling(logits, labels)
        best = loss(found, logits, labels)
        for scale, shift in ((0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)):
            near = Scaling(scale=found.scale + scale, shift=found.shift + shift)
            assert loss(near, logits, labels) > best
    assert fit_scaling([], []) == Scaling()


def test_only_labels_that_can_tell_count_for_the_auc() -> None:
    assert settled(target(0.9, error=0.1)) is True
    assert settled(target(0.1, error=0.1)) is False
    assert settled(target(0.6, error=0.1)) is None
    assert settled(target(0.5)) is None
    assert settled(target(0.75, error=0.1)) is True
    assert settled(target(0.75, error=0.1), beyond=3.0) is None
    found = quality([0.9, 0.2, 0.1], [target(0.8, 0.1), target(0.1, 0.1), target(0.55, 0.1)])
    assert (found.steps, found.settled, found.auc) == (3, 2, 1.0)
    assert found.brier == pytest.approx((0.01 + 0.01 + 0.45**2) / 3)
    assert found.calibration_error == pytest.approx((0.1 + 0.1 + 0.45) / 3)
    nothing = quality([], [])
    assert (nothing.auc, nothing.brier, nothing.calibration_error, nothing.bins) == (None, None, None, ())


def value(before: int, after: int, *, last: bool = False) -> StepValue:
    return StepValue(
        trajectory_id="a",
        step_index=0,
        labeller="mc",
        before=before / 8,
        before_error=standard_error(before, 8),
        after=after / 8,
        after_error=0.0 if last else standard_error(after, 8),
        continuations=8,
        exact=True,
    )


def test_chance_alone_settles_a_share_of_steps_that_change_nothing() -> None:
    rng = random.Random(0)
    drawn = [value(*(sum(rng.random() < 0.5 for _ in range(8)) for _ in "vq")) for _ in range(4000)]
    for beyond, share in ((1.96, 0.080), (3.0, 0.021)):
        wrong = [each for each in drawn if abs(each.label - 0.5) > beyond * each.label_error]
        assert len(wrong) == pytest.approx(4000 * share, abs=40)
        assert settled_by_chance(drawn, beyond=beyond) == pytest.approx(4000 * share, abs=40)


def test_of_a_last_step_and_of_states_from_which_all_comes_out_alike_chance_settles_none() -> None:
    assert settled_by_chance([value(4, 8, last=True), value(0, 0), value(8, 8), value(1, 1)]) == 0.0
