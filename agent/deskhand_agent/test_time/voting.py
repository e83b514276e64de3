"""What most of several replies say (self-consistency, arXiv:2203.11171); clicks nearby are one vote."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deskhand_agent.coordinates import map_positions
from deskhand_agent.types import Decision
from deskhand_sandbox.types import Action, Point


def majority(candidates: Sequence[Decision], *, radius_px: float) -> tuple[int, tuple[float, ...]]:
    """The candidate in the middle of the largest cluster, and the share of the votes that agrees with each.

    Two agree that do the same, every position of one within the radius of the other's. The largest cluster is
    that of whom most agree with, the first of equal ones; in its middle is its medoid, who is nearest to all
    of it.

    Args:
        candidates: at least one; those without actions are votes for nothing where others have some.
        radius_px: in pixels of the screenshot.
    """
    valid = [n for n, each in enumerate(candidates) if each.actions] or list(range(len(candidates)))
    taken = {n: _apart(candidates[n].actions) for n in valid}
    apart = {(a, b): _distance(taken[a], taken[b]) for a in valid for b in valid}
    agreeing = {a: [b for b in valid if apart[a, b] <= radius_px] for a in valid}
    cluster = max((agreeing[a] for a in valid), key=len)
    medoid = min(cluster, key=lambda a: sum(apart[a, b] for b in cluster))
    return medoid, tuple(len(agreeing.get(n, ())) / len(candidates) for n in range(len(candidates)))


def _apart(actions: Sequence[Action]) -> tuple[list[Action], list[Point]]:
    """The actions without their positions, and those."""
    points: list[Point] = []

    def noted(point: Point) -> Point:
        points.append(point)
        return 0, 0

    return [map_positions(action, noted) for action in actions], points


def _distance(one: tuple[list[Action], list[Point]], other: tuple[list[Action], list[Point]]) -> float:
    """How far the furthest positions are from one another in pixels; infinite where other things are done."""
    if one[0] != other[0]:
        return math.inf
    return max((math.dist(a, b) for a, b in zip(one[1], other[1], strict=True)), default=0.0)
