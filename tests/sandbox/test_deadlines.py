from __future__ import annotations

import pytest

from deskhand_sandbox.deadlines import LONGEST_S, Deadlines, asked_s
from deskhand_sandbox.types import Action, Click, Run, Swipe, Touch, Wait


def test_an_action_has_the_time_that_it_asks_for() -> None:
    assert asked_s(Touch(x=1, y=1, hold_ms=700)) == 0.7
    assert asked_s(Swipe(path=((1, 1), (2, 2)), duration_ms=1500)) == 1.5
    assert asked_s(Wait(seconds=3)) == 3
    assert asked_s(Run(command="true", timeout_s=90)) == 90
    assert asked_s(Click(x=1, y=1)) == 0


@pytest.mark.parametrize("much", [10**9, 10**400, -(10**400)])
def test_what_will_be_refused_has_a_deadline_too(much: int) -> None:
    actions: list[Action] = [
        Touch(x=1, y=1, hold_ms=much),
        Swipe(path=((1, 1), (2, 2)), duration_ms=much),
        Wait(seconds=much),
        Run(command="true", timeout_s=much),
    ]
    for action in actions:
        assert asked_s(action) == (LONGEST_S if much > 0 else 0)
        assert Deadlines(call_s=60).of_action(action) <= 60 + LONGEST_S
