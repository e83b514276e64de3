"""What is asked for, and how much of it was bought."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.store.catalogue import Product, catalogue
from deskhand_sandbox.types import JsonValue

ABOVE_CENTS = (500, 3000)
"""How far a goal's limit lies above the price of the product it was made from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """One thing to buy."""

    kind: str
    attributes: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    limit_cents: int
    """Less than this is to be paid."""

    @property
    def instruction(self) -> str:
        """As a person asks for it."""
        wanted = ", ".join(self.attributes)
        chosen = "".join(f", {name} {value}" for name, value in self.options.items())
        limit = self.limit_cents / 100
        return f"Buy a {self.kind} that is {wanted}{chosen}, for less than ${limit:.2f}."

    def settings(self) -> dict[str, JsonValue]:
        """What `read_goal` reads."""
        return {
            "kind": self.kind,
            "attributes": [*self.attributes],
            "options": {**self.options},
            "limit_cents": self.limit_cents,
        }


def draw_goal(draw: random.Random) -> Goal:
    """A goal that one product at least fits altogether."""
    product = draw.choice([*catalogue().values()])
    return Goal(
        kind=product.kind,
        attributes=tuple(draw.sample(product.attributes, 2)),
        options={name: draw.choice(values) for name, values in product.options.items()},
        limit_cents=(product.cents + draw.randrange(*ABOVE_CENTS)) // 100 * 100 + 100,
    )


def read_goal(told: JsonValue) -> Goal:
    """A goal from settings.

    Raises:
        InvalidTask: it is none, or no product fits it.
    """
    try:
        assert isinstance(told, dict)
        kind, attributes, options, limit = (
            told[name] for name in ("kind", "attributes", "options", "limit_cents")
        )
        assert isinstance(kind, str) and isinstance(attributes, list) and isinstance(options, dict)
        assert isinstance(limit, int) and limit > 0
        goal = Goal(
            kind=kind,
            attributes=tuple(str(each) for each in attributes),
            options={name: str(value) for name, value in options.items()},
            limit_cents=limit,
        )
    except (AssertionError, KeyError) as error:
        raise InvalidTask(f"a goal has kind, attributes, options and limit_cents, not {told!r}") from error
    if not fitting(goal):
        raise InvalidTask(f"the store has nothing that fits: {goal.instruction}")
    return goal


def fitting(goal: Goal) -> tuple[Product, ...]:
    """Products that fit a goal altogether, rightly chosen."""
    return tuple(p for p in catalogue().values() if reward(goal, p, goal.options) == 1.0)


def reward(goal: Goal, product: Product, chosen: Mapping[str, str]) -> float:
    """WebShop's reward: r_type · (attributes + options + price that fit) / (as many as were asked for).

    Args:
        chosen: name of an option -> what was chosen.

    Returns:
        0 to 1; r_type is 1 for the kind that was asked for, .5 for another of its department, else 0, where
        WebShop compares words of titles and categories.
    """
    same = product.kind == goal.kind
    neighbour = any(p.kind == goal.kind and p.department == product.department for p in catalogue().values())
    fits = len(set(goal.attributes) & set(product.attributes))
    fits += sum(
        value in product.options.get(name, ()) and chosen.get(name) == value
        for name, value in goal.options.items()
    )
    fits += product.cents < goal.limit_cents
    share = fits / (len(goal.attributes) + len(goal.options) + 1)
    return (1.0 if same else 0.5 if neighbour else 0.0) * share
