from __future__ import annotations

import pytest

gymnasium = pytest.importorskip("gymnasium")

from deskhand_sandbox.doors.spaces import (  # noqa: E402
    KEYS,
    action_of,
    action_space,
    kinds_for,
    observation_space,
    reply_space,
    shown_instruction,
)
from deskhand_sandbox.errors import InvalidAction  # noqa: E402
from deskhand_sandbox.types import Drag, Fail, Press, Swipe, TypeText  # noqa: E402

SIZE = (160, 200)


@pytest.mark.parametrize("kind", ["browser", "android"])
def test_every_sample_is_an_action_on_the_screen(kind: str) -> None:
    kinds = kinds_for(kind)
    space = action_space(SIZE, kinds)
    space.seed(1)
    found = set()
    for _ in range(300):
        sample = space.sample()
        action = action_of(sample, kinds)
        found.add(kinds[int(sample["kind"])])
        if hasattr(action, "x"):
            assert 0 <= action.x < SIZE[0]
            assert 0 <= action.y < SIZE[1]
    assert found == set(kinds)


def test_samples_say_what_to_do() -> None:
    kinds = kinds_for("browser")
    base = {"point": (1, 2), "end": (3, 4), "key": KEYS.index(("Control", "a")), "text": "hi"}
    assert action_of({**base, "kind": kinds.index("drag")}, kinds) == Drag(path=((1, 2), (3, 4)))
    assert action_of({**base, "kind": kinds.index("press")}, kinds) == Press(keys=("Control", "a"))
    assert action_of({**base, "kind": kinds.index("type")}, kinds) == TypeText(text="hi")
    assert action_of({**base, "kind": kinds.index("fail")}, kinds) == Fail()
    touch = kinds_for("android")
    assert action_of({**base, "kind": touch.index("swipe")}, touch) == Swipe(path=((1, 2), (3, 4)))
    assert "tap" not in kinds
    assert "click" not in touch


@pytest.mark.parametrize(
    "sample", [{}, {"kind": 99, "point": (1, 2), "end": (1, 2)}, {"kind": 0, "point": 3}]
)
def test_what_is_no_sample_is_refused(sample: dict[str, object]) -> None:
    with pytest.raises(InvalidAction, match="no action of the action space"):
        action_of(sample, kinds_for("browser"))


def test_instructions_fit_their_space() -> None:
    text = shown_instruction("Grüße, “Ada” – 任务\n" + "x" * 5000)
    assert text.startswith("Grüße, “Ada” – \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\n")
    assert observation_space(SIZE)["instruction"].contains(text)
    assert reply_space().contains("Thought: “so”\nAction: click(point='<point>1 2</point>')")
