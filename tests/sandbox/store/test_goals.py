"""The shop's goods and goals, and WebShop's reward by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.store.catalogue import catalogue
from deskhand_sandbox.store.goals import draw_goal, fitting, read_goal, reward
from deskhand_sandbox.store.search import find
from deskhand_sandbox.types import JsonValue


def test_there_is_a_hundred_and_more_to_buy_each_of_its_own() -> None:
    goods = catalogue()
    assert len(goods) > 200
    assert all(product.id == id and product.cents > 0 for id, product in goods.items())
    assert len({(p.title, p.attributes, p.cents) for p in goods.values()}) == len(goods)


def test_every_goal_has_something_that_fits_and_comes_back_from_its_settings() -> None:
    for seed in range(200):
        goal = draw_goal(random.Random(seed))
        assert fitting(goal)
        assert read_goal(goal.settings()) == goal
        assert goal.kind in goal.instruction and all(each in goal.instruction for each in goal.attributes)


def test_the_reward_by_hand() -> None:
    """Two attributes, two options, a price: five things asked for."""
    goal = next(g for g in (draw_goal(random.Random(s)) for s in range(99)) if len(g.options) == 2)
    product = fitting(goal)[0]
    assert reward(goal, product, goal.options) == 1.0
    assert reward(goal, product, {}) == pytest.approx(3 / 5)
    name = next(iter(goal.options))
    assert reward(goal, product, {name: goal.options[name]}) == pytest.approx(4 / 5)
    assert reward(replace(goal, limit_cents=product.cents), product, goal.options) == pytest.approx(4 / 5)
    lacking = replace(goal, attributes=(goal.attributes[0], "edible"))
    assert reward(lacking, product, goal.options) == pytest.approx(4 / 5)
    kinds = {p.kind for p in catalogue().values() if p.department == product.department} - {product.kind}
    assert reward(replace(goal, kind=min(kinds)), product, goal.options) == pytest.approx(0.5)
    elsewhere = next(p.kind for p in catalogue().values() if p.department != product.department)
    assert reward(replace(goal, kind=elsewhere), product, goal.options) == 0.0


def test_a_value_the_product_does_not_come_in_counts_for_nothing() -> None:
    goal = draw_goal(random.Random(0))
    product = fitting(goal)[0]
    goal = replace(goal, options={"color": "transparent"})
    assert reward(goal, product, {"color": "transparent"}) == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "told",
    [
        None,
        {},
        {"kind": "lamp", "attributes": "brass", "options": {}, "limit_cents": 1},
        {"kind": "lamp", "attributes": [], "options": {}, "limit_cents": 0},
        {"kind": "ship", "attributes": [], "options": {}, "limit_cents": 100},
    ],
)
def test_goals_that_are_none_are_refused(told: JsonValue) -> None:
    with pytest.raises(InvalidTask):
        read_goal(told)


def test_searching_finds_the_rarer_words_first() -> None:
    found = find("brass lamps")
    assert found[0].kind == "lamp" and "brass" in found[0].attributes
    with_both = [p for p in found if p.kind == "lamp" and "brass" in p.attributes]
    assert list(found[: len(with_both)]) == with_both
    assert find("zyx !?") == find("") == ()
