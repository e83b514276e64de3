from __future__ import annotations

import math

import pytest
import torch

from deskhand_agent.models.drawing import Drawn, draw

LOWEST = torch.finfo(torch.float32).min
SHARES = (0.2, 0.3, 0.0, 0.5)


def logits() -> torch.Tensor:
    return torch.tensor([math.log(each) if each else LOWEST for each in SHARES])


@pytest.mark.parametrize(
    ("chance", "token"),
    [(0.0, 0), (0.19, 0), (0.21, 1), (0.49, 1), (0.51, 3), (1 - 2**-53, 3)],
)
def test_a_chance_is_a_place_in_the_distribution(chance: float, token: int) -> None:
    (drawn,) = draw(logits()[None], [1.0], [chance])
    assert drawn is not None
    assert drawn.token == token
    assert drawn.logprob == pytest.approx(math.log(SHARES[token]), abs=1e-6)
    assert drawn.entropy == pytest.approx(-sum(p * math.log(p) for p in SHARES if p), abs=1e-6)


def test_temperature_zero_takes_the_likeliest_whatever_the_chance() -> None:
    (drawn,) = draw(logits()[None], [0.0], [0.0])
    assert drawn is not None and drawn.token == 3


def test_shares_of_many_draws_are_those_of_the_distribution() -> None:
    count = 4000
    found = draw(logits().expand(count, -1), [1.0] * count, [(i + 0.5) / count for i in range(count)])
    tokens = [each.token for each in found if each is not None]
    assert [tokens.count(t) / count for t in range(4)] == pytest.approx(SHARES, abs=1e-3)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_broken_row_is_named_and_harms_no_other(broken: float) -> None:
    rows = torch.stack([logits(), torch.full((4,), broken), logits()])
    found = draw(rows, [1.0, 1.0, 0.0], [0.3, 0.3, 0.3])
    alone = [draw(logits()[None], [t], [0.3])[0] for t in (1.0, 0.0)]
    assert found[1] is None
    assert [found[0], found[2]] == alone
    assert all(isinstance(each, Drawn) for each in alone)
