"""Agreement against published numbers, and of what the store holds."""

from __future__ import annotations

from itertools import permutations

import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, write
from hypothesis import given
from hypothesis import strategies as st

from deskhand_flywheel.agreement import agreement, agreement_of, cohen_kappa, krippendorff_alpha
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, TrajectoryFilter

DATABASES = ("sqlite", "postgresql")
# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and E: four observers,
# twelve units, some values missing
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[float(row[n]) for row in FOUR if row[n] is not None] for n in range(12)]


def test_alpha_is_the_published_one() -> None:
    assert krippendorff_alpha(UNITS) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(UNITS, metric="interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # 0 0 | 1 1 | 0 1: of 6 values 3 and 3; observed 2/1/6, expected 18/(6·5)
    assert krippendorff_alpha([[0, 0], [1, 1], [0, 1]]) == pytest.approx(1 - (2 / 6) / (18 / 30))


def test_alpha_needs_two_values_that_can_be_compared_and_differ() -> None:
    for units in ([], [[1.0]], [[1.0], [0.0]], [[1.0, 1.0], [1.0, 1.0]], [[0.1] * 3] * 7):
        for metric in ("nominal", "interval"):
            assert krippendorff_alpha(units, metric=metric) is None  # type: ignore[arg-type]


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=4), min_size=1, max_size=6))
def test_alpha_is_one_for_agreement_alone_and_knows_no_order(units: list[list[float]]) -> None:
    alpha = krippendorff_alpha(units)
    lone = [*units, [0.25]]
    assert krippendorff_alpha(lone) == alpha  # one mark compares nothing
    turned = krippendorff_alpha([unit[::-1] for unit in reversed(units)])
    assert turned == (None if alpha is None else pytest.approx(alpha))
    if alpha is not None:
        assert (alpha == pytest.approx(1.0)) == all(len(set(unit)) == 1 for unit in units)


def test_kappa_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = .7, p_e = .5·.6 + .5·.4 = .5
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([(0, 1), (1, 0)]) == pytest.approx(-1.0)
    assert cohen_kappa([]) is None and cohen_kappa([(1, 1)] * 3) is None


def test_pairs_are_compared_on_what_both_marked() -> None:
    found = agreement_of([{"a": 1.0, "b": 0.9}, {"a": 0.0, "b": 0.8}, {"a": 1.0}, {"b": 0.0, "c": 0.2}])
    assert (found.sources, found.steps, found.marks) == (("a", "b", "c"), 3, 6)
    assert [(p.first, p.second, p.steps, p.agreed) for p in found.pairs] == [
        ("a", "b", 2, 0.5),
        ("b", "c", 1, 1.0),
    ]
    assert agreement_of([]).alpha_good is None
    for order in permutations([{"a": 1.0, "b": 0.0}, {"b": 1.0, "a": 1.0}]):
        assert agreement_of(order).pairs[0].agreed == 0.5


async def test_agreement_of_what_the_store_holds(store: Store) -> None:
    for name in "ab":
        steps = (make_step(0), make_step(1))
        await write(store, make_trajectory(name, steps=steps, end=make_end(), labels={"run": name}))
    for name, step, who, score in (
        ("a", 0, "ada", 1.0), ("a", 0, "bob", 0.75), ("a", 1, "ada", 0.0), ("a", 1, "bob", 0.0),
        ("b", 0, "ada", 1.0), ("b", 0, "bob", 0.0),
    ):  # fmt: skip
        await store.mark(name, step, who, score)
    judged = [StepScore(trajectory_id="a", step_index=n, score=1.0, scorer="judge:m@1") for n in (0, 1)]
    await store.add_scores(judged)
    people = await agreement(store)
    assert people.sources == ("human:ada", "human:bob")
    assert (people.steps, people.marks, people.pairs[0].agreed) == (3, 6, pytest.approx(2 / 3))
    assert people.pairs[0].kappa == pytest.approx(0.4)
    with_judge = await agreement(store, sources=("human:ada", "judge"))
    assert [(p.first, p.second, p.agreed) for p in with_judge.pairs] == [("human:ada", "judge:m@1", 0.5)]
    only = await agreement(store, TrajectoryFilter(labels={"run": "b"}))
    assert (only.steps, only.pairs[0].agreed) == (1, 0.0)
    assert (await agreement(store, sources=())).steps == 0
