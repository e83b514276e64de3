"""How far a process reward model's scores can be taken at their word, and the scaling that mends them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from deskhand_flywheel.prm.continuation import standard_error
from deskhand_flywheel.prm.metrics import ReliabilityBin, auc, brier, calibration_error, reliability
from deskhand_flywheel.prm.targets import StepTarget
from deskhand_flywheel.types import StepValue

SETTLED, SURE = 1.96, 3.0
"""Standard errors from ½ beyond which a label says that a step helps or harms, and beyond which chance alone
brings a quarter of as many, with 8 continuations of middling states (`settled_by_chance`)."""
_STEPS, _CLOSE = 100, 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """Platt scaling of logits: scale · logit + shift."""

    scale: float = 1.0
    shift: float = 0.0

    def score(self, logit: float) -> float:
        """0 to 1."""
        return _sigmoid(self.scale * logit + self.shift)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quality:
    """How good scores are on some labelled steps."""

    steps: int
    settled: int
    """Of these, labels that say whether the step helps or harms: what the AUC is over."""
    auc: float | None
    """None where the settled ones are of one kind."""
    calibration_error: float | None
    brier: float | None
    bins: tuple[ReliabilityBin, ...]


def settled(target: StepTarget, *, beyond: float = SETTLED) -> bool | None:
    """Whether a step helps, as far as its label can tell; None where it cannot.

    Args:
        beyond: standard errors from ½.
    """
    away = target.label - 0.5
    return None if abs(away) <= beyond * target.error else away > 0


def settled_by_chance(values: Iterable[StepValue], *, beyond: float = SETTLED) -> float:
    """How many of these labels would be expected to say that a step helps or harms if none did either.

    Where a step changes nothing, V and Q are shares of two samples from one rate: given their successes
    together, those of one are hypergeometric (Fisher's exact test). What a last step came to is known: its
    label is never of chance.
    """
    return sum(
        _by_chance(each.continuations, round((each.before + each.after) * each.continuations), beyond)
        for each in values
        if each.after_error > 0
    )


@cache
def _by_chance(count: int, successes: int, beyond: float) -> float:
    """Chance that two samples of `count` that share so many successes are told apart."""
    told = 0
    for first in range(max(0, successes - count), min(count, successes) + 1):
        second = successes - first
        error = math.hypot(standard_error(first, count), standard_error(second, count))
        if abs(first - second) / count > beyond * error:
            told += math.comb(count, first) * math.comb(count, second)
    return told / math.comb(2 * count, successes)


def quality(scores: Sequence[float], targets: Sequence[StepTarget]) -> Quality:
    """How good scores are.

    Args:
        scores: [n], each 0 to 1.
        targets: [n], of the same steps.
    """
    labels = [target.label for target in targets]
    known = [
        (score, helps)
        for score, target in zip(scores, targets, strict=True)
        if (helps := settled(target)) is not None
    ]
    return Quality(
        steps=len(labels),
        settled=len(known),
        auc=auc([score for score, _ in known], [helps for _, helps in known]),
        calibration_error=calibration_error(scores, labels),
        brier=brier(scores, labels),
        bins=reliability(scores, labels),
    )


def fit_scaling(logits: Sequence[float], labels: Sequence[float]) -> Scaling:
    """The scale and shift under which the labels are likeliest (Platt 1999), by Newton's method.

    A unit normal prior about no scaling at all keeps both finite where the labels are separable, in the place
    of Platt's smoothed targets: the labels may be any number from 0 to 1 here.

    Args:
        logits: [n].
        labels: [n], each 0 to 1.
    """
    scale, shift = 1.0, 0.0
    for _ in range(_STEPS):
        # of the negative log posterior: gradient (g) and Hessian (h), both in scale (a) and shift (b)
        g_a, g_b, h_aa, h_ab, h_bb = scale - 1.0, shift, 1.0, 0.0, 1.0
        for logit, label in zip(logits, labels, strict=True):
            score = _sigmoid(scale * logit + shift)
            weight = score * (1.0 - score)
            g_a += (score - label) * logit
            g_b += score - label
            h_aa += weight * logit * logit
            h_ab += weight * logit
            h_bb += weight
        determinant = h_aa * h_bb - h_ab * h_ab
        step_a = (h_bb * g_a - h_ab * g_b) / determinant
        step_b = (h_aa * g_b - h_ab * g_a) / determinant
        # a long step may overshoot where the scores are saturated
        damped = min(1.0, 1.0 / (abs(step_a) + abs(step_b) + _CLOSE))
        scale, shift = scale - damped * step_a, shift - damped * step_b
        if abs(step_a) + abs(step_b) < _CLOSE:
            break
    return Scaling(scale=scale, shift=shift)


def _sigmoid(logit: float) -> float:
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))
